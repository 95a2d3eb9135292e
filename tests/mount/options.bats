#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What the user may say about a file, on the command line and beside it.
load ../lib/mount

# refuses STATUS PATTERN ARG... - h5fs exits so and says it in one or two lines
refuses()
{
	local want=$1 pattern=$2

	shift 2
	run timeout 20 "$H5FS" "$@" 3>&-
	assert_eq "$status" "$want" "exit status ($output)"
	assert_match "$output" "$pattern"
	[ "${#lines[@]}" -le 3 ]
}

@test "layout= makes pictures of what is none by itself, and none of what is" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    f['flat'] = np.arange(3 * 784).astype('u1').reshape(3, 784)
    f['bands'] = np.arange(2 * 20 * 20 * 8).astype('u1').reshape(2, 20, 20, 8)
    f['images'] = np.arange(2 * 20 * 30 * 3).astype('u1').reshape(2, 20, 30, 3)
    f['obs/a_depth'] = np.linspace(0, 4, 2 * 20 * 30).astype('f4').reshape(2, 20, 30)
PY
	h5fs_mount d.h5 layout=/flat:flat:28x28 layout=/bands:NHWC+bands=2+1+0 layout=/images:none
	py <<'PY'
from png import decode
with h5py.File('d.h5', 'r', locking=False) as f:
    np.testing.assert_array_equal(decode(MNT + '/flat/000002.png')[..., 0], f['flat'][2].reshape(28, 28))
    np.testing.assert_array_equal(decode(MNT + '/bands/000001.png'), f['bands'][1][..., [2, 1, 0]])
assert not [n for n in os.listdir(MNT + '/images') if n.endswith('.png')] and os.path.exists(MNT + '/images.npy')
PY
}

@test "layout= with +transpose and a glob" {
	h5_make d.h5 a/images:u8:2x20x30x3 b/images:u8:2x20x30x3
	h5fs_mount d.h5 'layout=/*/images:NHWC+transpose'
	py <<'PY'
from png import decode
with h5py.File('d.h5', 'r', locking=False) as f:
    for g in 'ab':
        np.testing.assert_array_equal(decode('%s/%s/images/000001.png' % (MNT, g)), f[g + '/images'][1].transpose(1, 0, 2))
PY
	assert_xattr "$MNT/a/images" user.h5fs.rule R1
}

@test "range= shows a depth map by its own scale" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    f['obs/front_depth'] = np.linspace(0, 4, 2 * 20 * 30).astype('f4').reshape(2, 20, 30)
PY
	h5fs_mount d.h5 'range=/obs/*_depth:0:2'
	py <<'PY'
from png import decode
with h5py.File('d.h5', 'r', locking=False) as f:
    want = np.floor(np.clip(f['obs/front_depth'][0].astype('f8') / 2, 0, 1) * 255 + .5)
    np.testing.assert_array_equal(decode(MNT + '/obs/front_depth/000000.png')[..., 0], want)
PY
}

@test "names= lets each row answer to its file's name, unlisted" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    for g in 'ab':
        f[g + '/images'] = np.zeros((3, 16, 16, 3), 'u1')
    f['a/filenames'] = np.array(['one.png', 'two.png', 'three.png'], dtype=h5py.string_dtype())
    f['b/who'] = f['a/filenames'][...]
PY
	h5fs_mount d.h5 names=/b/images:/b/who
	assert_eq "$(stat -c %i "$MNT/a/images/two.png")" "$(stat -c %i "$MNT/a/images/000001.png")"
	assert_eq "$(stat -c %i "$MNT/b/images/three.png")" "$(stat -c %i "$MNT/b/images/000002.png")"
	ls_is "$MNT/a/images" 000000.png 000001.png 000002.png
}

@test "masks=palette colours masks for looking at" {
	h5_make d.h5 images:u8:2x16x16x3 masks:u8:2x16x16:mod=5
	h5fs_mount d.h5 masks=palette
	assert_match "$(file -b "$MNT/masks/000000.png")" '*colormap*'
	assert_match "$(file -b "$MNT/images/000000.png")" '*color RGB*'
	assert_same_pixels "$MNT/masks/000001.png" d.h5 masks 1
}

@test "FILE.h5fs sets layout, range, labels, classes and names; -o wins" {
	h5_make d.h5 flat:u8:3x784 images:u8:4x16x16x3 kind:i32:4:mod=2
	printf '%s\n' '# how this file is read' 'layout /flat:flat:28x28' 'labels /images:/kind' \
		'classes numbers' >d.h5.h5fs
	h5fs_mount d.h5
	[ -f "$MNT/flat/000002.png" ]
	ls_is "$MNT/images.by-class" 0 1
	h5fs_unmount
	h5fs_mount d.h5 layout=/flat:none
	[ ! -e "$MNT/flat" ]
}

@test "FILE.h5fs sets nothing else, and a bad line is named" {
	h5_make d.h5 images:u8:4x16x16x3
	echo 'external follow' >d.h5.h5fs
	refuses 1 '*d.h5.h5fs*1*' d.h5 "$MNT"
	printf '\nlayout nonsense\n' >d.h5.h5fs
	refuses 1 '*d.h5.h5fs*2*' d.h5 "$MNT"
	not_mounted "$MNT"
}

@test "an unknown option, and a value that does not parse, are named" {
	h5_make d.h5 images:u8:4x16x16x3
	refuses 2 '*frobnicate*' -o frobnicate d.h5 "$MNT"
	refuses 2 '*frob*' -o frob=1 d.h5 "$MNT"
	refuses 2 '*view*' -o view=sideways d.h5 "$MNT"
	refuses 2 '*classes*' -o classes=x d.h5 "$MNT"
	refuses 2 '*cache*' -o cache=lots d.h5 "$MNT"
	refuses 2 '*threads*' -o threads=-1 d.h5 "$MNT"
	refuses 2 '*range*' -o range=/images:a:b d.h5 "$MNT"
	refuses 2 '*layout*' -o layout=/images:QQQ d.h5 "$MNT"
	refuses 2 '*external*' -o external=maybe d.h5 "$MNT"
	not_mounted "$MNT"
}

@test "ro and edit together, a fit that is none, a stage that is not there" {
	h5_make d.h5 images:u8:4x16x16x3
	refuses 2 '*edit*ro*' -o ro,edit d.h5 "$MNT"
	refuses 2 '*ro*edit*' -o edit -o ro d.h5 "$MNT"
	refuses 2 '*fit*letterbox*' -o fit=squash d.h5 "$MNT"
	refuses 2 '*commit*manual*' -o commit=never d.h5 "$MNT"
	refuses 2 '*rows=images*' -o rows=images d.h5 "$MNT"
	refuses 1 '*nowhere*' -o stage=nowhere d.h5 "$MNT"
	not_mounted "$MNT"
}

@test "a path that matches nothing is named" {
	h5_make d.h5 images:u8:4x16x16x3
	refuses 1 '*/nothing*' -o layout=/nothing:none d.h5 "$MNT"
	refuses 1 '*/img/\**' -o 'range=/img/*:0:1' d.h5 "$MNT"
	refuses 1 '*rows=/images*no group*' -o rows=/images d.h5 "$MNT"
	not_mounted "$MNT"
}

@test "uid=, gid=, umask= say who owns and who may read" {
	h5_make d.h5 images:u8:4x16x16x3
	h5fs_mount d.h5 uid=1234,gid=4321,umask=077
	assert_eq "$(stat -c '%u %g %a' "$MNT/images/000000.png")" '1234 4321 600'
	assert_eq "$(stat -c '%u %g %a' "$MNT/images")" '1234 4321 700'
	h5fs_unmount
	h5fs_mount d.h5 uid=1234,gid=4321,umask=077,ro
	assert_eq "$(stat -c '%u %g %a' "$MNT/images/000000.png")" '1234 4321 400'
	assert_eq "$(stat -c '%u %g %a' "$MNT/images")" '1234 4321 500'
}
