#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Links of every kind, and inode numbers.
load ../lib/mount

make_links()
{
	mkdir -p in out
	py <<'PY'
for p in 'in/side.h5', 'out/side.h5':
    with h5py.File(p, 'w') as f:
        f['x'] = np.arange(3)
        f['g/y'] = np.arange(4)
os.chdir('in')
with h5py.File('d.h5', 'w') as f:
    f['real/images'] = np.zeros((2, 16, 16, 3), 'u1')
    f['real/t'] = np.arange(5.)
    f['hard'] = f['real/t']
    f['zz_group'] = f['real']
    f['real/loop'] = f['/']
    f['soft'] = h5py.SoftLink('/real/images')
    f['deep/soft'] = h5py.SoftLink('../real/t')
    f['deep/abs'] = h5py.SoftLink('/real/t')
    f['softgroup'] = h5py.SoftLink('real')
    f['dangling'] = h5py.SoftLink('/nowhere')
    f['ext'] = h5py.ExternalLink('side.h5', '/x')
    f['extgroup'] = h5py.ExternalLink('side.h5', '/g')
    f['extmissing'] = h5py.ExternalLink('none.h5', '/x')
    f['extout'] = h5py.ExternalLink('../out/side.h5', '/x')
    f['extabs'] = h5py.ExternalLink(os.path.abspath('../out/side.h5'), '/x')
PY
	cd in
}

@test "a soft link is a relative symbolic link to each entry of its target" {
	make_links
	h5fs_mount d.h5
	assert_eq "$(readlink "$MNT/soft")" real/images
	assert_eq "$(readlink "$MNT/soft.npy")" real/images.npy
	[ -f "$MNT/soft/000001.png" ]
	assert_eq "$(readlink "$MNT/softgroup")" real
	cmp "$MNT/deep/abs.npy" "$MNT/real/t.npy"
	assert_eq "$(readlink "$MNT/deep/abs.npy")" ../real/t.npy
}

@test "a dangling one is broken, and listed" {
	make_links
	h5fs_mount d.h5
	[ -L "$MNT/dangling" ]
	assert_errno ENOENT stat "$MNT/dangling"
}

@test "a dataset under two hard links: one st_ino, nlink 2" {
	make_links
	h5fs_mount d.h5
	assert_eq "$(stat -c '%i %h' "$MNT/hard.npy")" "$(stat -c '%i %h' "$MNT/real/t.npy")"
	assert_eq "$(stat -c %h "$MNT/hard.npy")" 2
	cmp "$MNT/hard.npy" "$MNT/real/t.npy"
}

@test "a group under two is a directory at its shortest path, a symbolic link elsewhere" {
	make_links
	h5fs_mount d.h5
	[ -d "$MNT/real" ]
	[ ! -L "$MNT/real" ]
	assert_eq "$(readlink "$MNT/zz_group")" real
}

@test "a link to an ancestor does not resolve" {
	make_links
	h5fs_mount d.h5
	assert_eq "$(readlink "$MNT/real/loop")" cycle:/
	assert_eq "$(find -L "$MNT" -name '000000.png' 2>/dev/null | wc -l)" 4
	[ "$(find "$MNT" | wc -l)" -lt 60 ]
}

@test "external links: inside FILE's directory followed, others not" {
	make_links
	h5fs_mount d.h5
	assert_eq "$(cat "$MNT/ext.npy" | tail -c 24 | od -An -tu8 | tr -s ' ')" "$(printf ' 0 1\n 2')"
	[ -f "$MNT/extgroup/y.npy" ]
	assert_eq "$(readlink "$MNT/extmissing")" none.h5:/x
	assert_eq "$(readlink "$MNT/extout")" ../out/side.h5:/x
	[ -L "$MNT/extabs" ]
	assert_errno ENOENT stat "$MNT/extout"
}

@test "external=follow goes everywhere, external=hide nowhere" {
	make_links
	h5fs_mount d.h5 external=follow
	cmp "$MNT/extout.npy" "$MNT/ext.npy"
	cmp "$MNT/extabs.npy" "$MNT/ext.npy"
	h5fs_unmount
	h5fs_mount d.h5 external=hide
	for n in ext extgroup extmissing extout extabs; do
		refute test -L "$MNT/$n"
		refute test -e "$MNT/$n"
		refute test -e "$MNT/$n.npy"
	done
}

@test "an external link that leaves through a symbolic link is refused" {
	make_links
	ln -s ../out/side.h5 sneaky.h5
	py <<'PY'
with h5py.File('in/d.h5' if os.path.isdir('in') else 'd.h5', 'a') as f:
    f['sneaky'] = h5py.ExternalLink('sneaky.h5', '/x')
PY
	h5fs_mount d.h5
	[ -L "$MNT/sneaky" ]
	[ ! -e "$MNT/sneaky.npy" ]
}

@test "st_ino is the same at the next mount, for every listed entry" {
	make_links
	h5fs_mount d.h5
	find "$MNT" -printf '%P %i\n' | sort >"$TMP/first"
	h5fs_unmount
	h5fs_mount d.h5
	ls -laR "$MNT/real" >/dev/null
	find "$MNT" -printf '%P %i\n' | sort >"$TMP/second"
	[ "$(wc -l <"$TMP/first")" -gt 15 ]
	diff "$TMP/first" "$TMP/second"
	assert_eq "$(find "$MNT" -type f -printf '%i\n' | sort | uniq -d | wc -l)" 2
}

@test "st_ino by readdir and by stat agree" {
	make_links
	h5fs_mount d.h5
	py <<'PY'
for top, _, _ in os.walk(MNT):
    for e in os.scandir(top):
        assert e.inode() == e.stat(follow_symlinks=False).st_ino != 0, e.path
PY
}

@test "virtual datasets show what their sources hold" {
	h5fs_mount "$LAYOUTS/vds.h5"
	py "$LAYOUTS/vds.h5" <<'PY'
n = 0
with h5py.File(sys.argv[1], 'r', locking=False) as f:
    def one(name, d):
        global n
        if isinstance(d, h5py.Dataset) and d.is_virtual:
            np.testing.assert_array_equal(np.load('%s/%s.npy' % (MNT, name)), d[...])
            n += 1
    f.visititems(one)
assert n
PY
}
