#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What a mount lists, and what it does not.
load ../lib/mount

@test "a group is a directory, a dataset a file, pictures a directory of PNGs" {
	h5_make d.h5 train/images:u8:3x16x16x3 train/labels:i32:3:mod=2 \
		photo:u8:20x24x3 table:f64:5x3 cube:f32:4x5x6
	h5fs_mount d.h5
	ls_is "$MNT" train photo.npy photo.png table.npy table.txt cube.npy
	ls_is "$MNT/train" images images.npy labels.npy labels.txt
	ls_is "$MNT/train/images" 000000.png 000001.png 000002.png
	assert_same_pixels "$MNT/photo.png" d.h5 photo
	assert_same_pixels "$MNT/train/images/000002.png" d.h5 train/images 2
}

@test "further leading axes are nested directories" {
	h5_make d.h5 videos:u8:2x3x16x16x3
	h5fs_mount d.h5
	ls_is "$MNT/videos" 000000 000001
	ls_is "$MNT/videos/000001" 000000.png 000001.png 000002.png
	assert_same_pixels "$MNT/videos/000001/000002.png" d.h5 videos 1 2
}

@test "an empty growable set is an empty directory" {
	h5_make d.h5 images:u8:0x16x16x3:grow:chunk=1x16x16x3
	h5fs_mount d.h5
	ls_is "$MNT" images images.npy
	ls_is "$MNT/images"
}

@test "strings, tables, and what NumPy can not hold have their readable forms" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    f['note'] = 'two\nlines, no newline added'
    f['config'] = '{"a": [1, 2]}'
    f['names'] = np.array(['one', 'two\nhalves', 'ünï'], dtype=h5py.string_dtype())
    f['grid'] = np.array([['a', 'b'], ['c', 'd']], dtype=h5py.string_dtype())
    f['points'] = np.array([(1, 0.5, b'ab'), (2, -1.5, b'c')], [('id', 'i4'), ('x', 'f8'), ('tag', 'S4')])
    d = f.create_dataset('ragged', (2,), h5py.vlen_dtype('i4'))
    d[0], d[1] = [1, 2, 3], []
    f['raw'] = np.array([b'\0\1\2'], 'V3')
    f['nothing'] = h5py.Empty('f4')
PY
	h5fs_mount d.h5
	ls_is "$MNT" note.txt config.json names.txt grid.json points.npy points.csv \
		ragged.json raw.bin nothing.json
	assert_eq "$(cat "$MNT/note.txt")" $'two\nlines, no newline added'
	assert_eq "$(stat -c %s "$MNT/note.txt")" 27
	assert_eq "$(cat "$MNT/config.json")" '{"a": [1, 2]}'
	assert_eq "$(cat "$MNT/names.txt")" $'one\ntwo\\nhalves\nünï'
	assert_eq "$(xxd -p "$MNT/raw.bin" 2>/dev/null || od -An -tx1 "$MNT/raw.bin" | tr -d ' ')" 000102
	py <<'PY'
import csv, json
assert json.load(open(MNT + '/grid.json')) == [['a', 'b'], ['c', 'd']]
assert json.load(open(MNT + '/ragged.json')) == [[1, 2, 3], []]
assert json.load(open(MNT + '/nothing.json')) is None
rows = list(csv.reader(open(MNT + '/points.csv'), skipinitialspace=True))
assert rows[0] == ['id', 'x', 'tag'], rows
assert [(int(a), float(b), c.strip()) for a, b, c in rows[1:]] == [(1, .5, 'ab'), (2, -1.5, 'c')], rows
p = np.load(MNT + '/points.npy')
assert p['id'].tolist() == [1, 2] and p['tag'].tolist() == [b'ab', b'c']
PY
}

@test "numbers of rank 2 are a text that NumPy reads back, of a size known before" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    f['wide'] = np.arange(65 * 2).reshape(2, 65)
    f['table'] = np.array([[1.5, -2.25e-300, np.nan], [np.inf, 1 / 3, 1e308]])
    f['ids'] = np.array([0, -5, 2**62], 'i8')
PY
	h5fs_mount d.h5
	[ ! -e "$MNT/wide.txt" ]
	py <<'PY'
with h5py.File('d.h5', 'r', locking=False) as f:
    np.testing.assert_array_equal(np.loadtxt(MNT + '/table.txt'), f['table'][...])
    np.testing.assert_array_equal(np.loadtxt(MNT + '/ids.txt', dtype='i8'), f['ids'][...])
for n in 'table', 'ids':
    lines = open('%s/%s.txt' % (MNT, n)).read().split('\n')
    assert lines[-1] == '' and len({len(x) for x in lines[:-1]}) == 1, lines
    assert os.stat('%s/%s.txt' % (MNT, n)).st_size == sum(len(x) + 1 for x in lines[:-1])
PY
}

@test "encoded pictures are their stored bytes" {
	py <<'PY'
import io
from PIL import Image
def enc(k, fmt):
    b = io.BytesIO()
    Image.fromarray(np.full((20, 30, 3), k, 'u1')).save(b, fmt)
    return np.frombuffer(b.getvalue(), 'u1')
with h5py.File('d.h5', 'w') as f:
    d = f.create_dataset('photos', (3,), h5py.vlen_dtype('u1'))
    d[0], d[1] = enc(10, 'JPEG'), enc(20, 'PNG')
    for i in range(2):
        open('want%d' % i, 'wb').write(d[i].tobytes())
PY
	h5fs_mount d.h5
	ls_is "$MNT/photos" 000000.jpg 000001.png 000002
	cmp want0 "$MNT/photos/000000.jpg"
	cmp want1 "$MNT/photos/000001.png"
	assert_eq "$(stat -c %s "$MNT/photos/000002")" 0
}

@test "members of a row set with rows of rank 2 or more are a directory of arrays" {
	h5_make d.h5 images:u8:4x16x16x3:grow depth_points:f32:4x7x3:grow labels:i32:4:grow
	h5fs_mount d.h5
	ls_is "$MNT/depth_points" 000000.npy 000001.npy 000002.npy 000003.npy
	py <<'PY'
with h5py.File('d.h5', 'r', locking=False) as f:
    for i in range(4):
        np.testing.assert_array_equal(np.load(MNT + '/depth_points/%06d.npy' % i), f['depth_points'][i])
PY
}

@test "names: the suffix is always added, dots and percents can be turned back" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    for n in ('c', 'c.npy', '%41', 'per%cent'):
        f[n] = np.arange(70.).reshape(1, 70)
    f.create_group('group.npy')
    h5py.h5g.create(f.id, b'x' * 300)
PY
	h5fs_mount d.h5
	for n in c.npy c.npy.npy %2541.npy per%cent.npy group%2Enpy; do
		[ -e "$MNT/$n" ] || { ls "$MNT"; false; }
	done
	long=$(ls "$MNT" | grep '^xxx')
	[ "${#long}" -le 255 ]
	assert_eq "$(xattr "$MNT/$long" user.h5fs.name)" "$(printf 'x%.0s' {1..300})"
}

@test "unlisted names answer, and recursive readers meet each sample once" {
	h5_make d.h5 images:u8:6x16x16x3 labels:i32:6:mod=3
	h5fs_mount d.h5
	ls_is "$MNT" images images.npy labels.npy labels.txt
	for n in images.by-class images.nrrd .attrs .h5fs 'images[0:2].npy'; do
		[ -e "$MNT/$n" ] || { echo "no $n"; false; }
	done
	ls_is "$MNT/.h5fs" status errors metrics control
	assert_eq "$(find "$MNT" -name '*.png' | wc -l)" 6
	assert_errno ENOENT stat "$MNT/images/000006.png"
	assert_errno ENOENT stat "$MNT/images/6.png"
	assert_errno ENOENT stat "$MNT/images/0000001.png"
	assert_errno ENOENT stat "$MNT/nothing.npy"
}

@test "an entry that is there wins over an unlisted name" {
	h5_make d.h5 images:u8:3x16x16x3 labels:i32:3:mod=2 images.by-class/x:f64:5x3
	h5fs_mount d.h5
	[ -e "$MNT/images.by-class/0" ]
	[ -e "$MNT/images%2Eby-class/x.npy" ]
}

@test "with -o ro everything is read-only and says so" {
	h5_make d.h5 images:u8:3x16x16x3
	cp d.h5 before.h5
	h5fs_mount d.h5 ro
	assert_match "$(grep " $MNT " /proc/self/mounts)" '* fuse.h5fs ro,*'
	for call in 'create x.png' 'mkdir x' 'unlink images/000000.png' \
		'truncate images/000000.png' 'open_write images/000000.png' 'rmdir images' \
		'chmod images' 'utime images.npy' 'mknod x.png'; do
		set -- $call
		assert_errno EROFS "$1" "$MNT/$2"
	done
	assert_errno EROFS setxattr "$MNT/images" user.x
	assert_errno EROFS removexattr "$MNT/images" user.x
	assert_errno EROFS rename "$MNT/images/000000.png" "$MNT/images/1.png"
	assert_errno EROFS link "$MNT/images.npy" "$MNT/x.npy"
	assert_errno EROFS symlink "$MNT/x" images
	h5fs_unmount
	cmp d.h5 before.h5
}

@test "sizes, blocks, times, owner: what stat shows" {
	h5_make d.h5 images:u8:3x16x16x3
	touch -d '2020-02-02 02:02:02 UTC' d.h5
	h5fs_mount d.h5
	f=$MNT/images/000001.png
	assert_eq "$(stat -c %s "$f")" "$(wc -c <"$f")"
	[ "$(stat -c %b "$f")" -gt 0 ]
	assert_eq "$(stat -c %Y "$f")" 1580608922
	assert_eq "$(stat -c '%U %a' "$MNT/images")" "$(id -un) $(stat -c %a "$MNT")"
	assert_match "$(stat -c %a "$f")" '[46]*'
	df "$MNT" >/dev/null
	assert_eq "$(stat -f -c %b "$MNT")" "$(stat -f -c %b d.h5)"
}

@test "a listing of the root that a change of FILE overtakes has no name twice and none missing" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    for i in range(2000):
        f.create_group('old_%04d' % i)
with h5py.File('new.h5', 'w') as f:
    for i in range(1500):
        f.create_group('new_%04d' % i)
PY
	h5fs_mount d.h5
	py <<'PY'
import time
it = os.scandir(MNT)
names = [next(it).name for _ in range(10)]
os.rename('new.h5', 'd.h5')
for _ in range(200):
    if os.path.exists(MNT + '/new_0000'):
        break
    time.sleep(.01)
assert os.path.exists(MNT + '/new_0000')
try:
    names += [e.name for e in it]
    assert sorted(names) == ['old_%04d' % i for i in range(2000)], len(names)
except OSError as e:            # it is long gone
    import errno
    assert e.errno == errno.ESTALE, e
assert sorted(os.listdir(MNT)) == ['new_%04d' % i for i in range(1500)]
for i in 0, 700, 1499:
    assert os.listdir(MNT + '/new_%04d' % i) == []
    for _ in range(300):        # what the listing brought is dropped once more
        if not os.path.exists(MNT + '/old_%04d' % i):
            break
        time.sleep(.01)
    assert not os.path.exists(MNT + '/old_%04d' % i)
PY
}
