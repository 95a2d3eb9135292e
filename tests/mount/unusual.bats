#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Files that are unusual, large, damaged or made to mislead: faults that were
# met once, each kept out by the kind of file that showed it.
load ../lib/mount

@test "a soft link inside an external file leads there, not into FILE" {
	py <<'PY'
with h5py.File('b.h5', 'w') as f:
    f['x'] = np.arange(5)
    f['g/self'] = h5py.SoftLink('/x')
    f['g/far'] = h5py.SoftLink('/w/y')
with h5py.File('d.h5', 'w') as f:
    f['x'] = 7 * np.arange(100)
    f['e'] = h5py.ExternalLink('b.h5', '/g')
    f['whole'] = h5py.ExternalLink('b.h5', '/')
PY
	h5fs_mount d.h5
	assert_eq "$(tr -d ' ' <"$MNT/whole/g/self.txt" | paste -sd,)" 0,1,2,3,4
	assert_eq "$(readlink "$MNT/whole/g/far")" "b.h5:/w/y"
}

@test "FILE may link to itself, by link and by virtual dataset" {
	py <<'PY'
lay = h5py.VirtualLayout((4, 16, 16, 3), 'u1')
lay[...] = h5py.VirtualSource('d.h5', 'images', (4, 16, 16, 3))
with h5py.File('d.h5', 'w', libver='latest') as f:
    f['images'] = np.full((4, 16, 16, 3), 9, 'u1')
    f['again'] = h5py.ExternalLink('d.h5', '/images')
    f.create_virtual_dataset('virtual_images', lay, fillvalue=77)
PY
	h5fs_mount d.h5
	cmp "$MNT/images/000002.png" "$MNT/again/000002.png"
	cmp "$MNT/images/000002.png" "$MNT/virtual_images/000002.png"
}

@test "LZF is read also where the library must convert" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    f.create_dataset('s', data=['a', 'bb', 'ccc'] * 50, dtype=h5py.string_dtype(), compression='lzf', chunks=(32,))
    f.create_dataset('be', data=np.zeros(40, [('a', '>i4'), ('b', '<f4')]), compression='lzf', chunks=(8,))
    f.create_dataset('n', data=np.arange(300, dtype='>i8'), compression='lzf', shuffle=True, fletcher32=True, chunks=(64,))
PY
	h5fs_mount d.h5
	py <<'PY'
assert open(MNT + '/s.txt').read() == 'a\nbb\nccc\n' * 50
assert np.load(MNT + '/be.npy').shape == (40,)
np.testing.assert_array_equal(np.load(MNT + '/n.npy'), np.arange(300))
assert not open(MNT + '/.h5fs/errors').read().strip()
PY
}

@test "classes keep apart whatever they are called, and every name can be made" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    f['images'] = np.zeros((4, 16, 16, 3), 'u1')
    f['labels'] = np.arange(4)
    f.attrs['label_names'] = ['cat', 'cat', 'x' * 254, 'cat.0']
PY
	h5fs_mount d.h5 classes=both
	cp -a "$MNT/images.by-class" copy
	assert_eq "$(find copy -name '*.png' | wc -l)" 4
	h5fs_unmount
	h5fs_mount d.h5
	assert_eq "$(find "$MNT/images.by-class/" -name '*.png' | wc -l)" 4
	assert_eq "$(ls "$MNT/images.by-class" | sort -u | wc -l)" 4
}

@test "an empty stack has its declared classes" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    f.create_dataset('images', (0, 16, 16, 3), 'u1', maxshape=(None, 16, 16, 3), chunks=(1, 16, 16, 3))
    f.create_dataset('labels', (0,), 'i4', maxshape=(None,), chunks=(8,))
    f.attrs['class_names'] = ['a', 'b']
PY
	h5fs_mount d.h5
	assert_eq "$(ls "$MNT/images.by-class" | paste -sd,)" a,b
}

@test "a dataset called names names the rows that it is as long as" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    f['images'] = np.arange(3, dtype='u1')[:, None, None, None] * np.ones((3, 16, 16, 3), 'u1')
    f['labels'] = [0, 1, 0]
    f['names'] = [b'a.jpg', b'sub/b.jpg', b'c']
PY
	h5fs_mount d.h5
	cmp "$MNT/images/b.png" "$MNT/images/000001.png"
	cmp "$MNT/images/c.png" "$MNT/images/000002.png"
	[ ! -e "$MNT/images/d.png" ]
	assert_eq "$(ls "$MNT/images.by-class" | paste -sd,)" 0,1
}

@test "what is too large for one file is listed, told, and EIO" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    f['ok'] = [1, 2]
    f.create_dataset('s', (2**36,), h5py.string_dtype(), chunks=(1000,))
    f['opaque'] = np.void(b'a' * 70_000_000)
    f.create_dataset('pictures', (2**33, 16, 16), 'u1', chunks=(1, 16, 16))
PY
	h5fs_mount d.h5
	assert_errno EIO read "$MNT/s.json"
	assert_eq "$(head -c 3 "$MNT/opaque.bin")" aaa
	assert_eq "$(stat -c %s "$MNT/opaque.bin")" 70000000
	[ -e "$MNT/ok.npy" ] && [ -e "$MNT/pictures.npy" ]
	grep -q '^/s	' "$MNT/.h5fs/errors"
	grep -q '^/pictures	' "$MNT/.h5fs/errors"
}

@test "an int32 picture behind a missing filter is EIO, not an empty file" {
	py <<'PY'
from h5py import h5p, h5d, h5s, h5t
with h5py.File('d.h5', 'w') as f:
    for name, t, shape, chunk in (('images', h5t.STD_I32LE, (2, 32, 32), (1, 32, 32)),
                                  ('s', h5t.py_create(h5py.string_dtype(), logical=True), (8,), (4,))):
        dc = h5p.create(h5p.DATASET_CREATE)
        dc.set_chunk(chunk)
        dc.set_filter(32015, 1, (3,))
        h5d.create(f.id, name.encode(), t, h5s.create_simple(shape), dc).write_direct_chunk((0,) * len(shape), b'x' * 30, 0)
PY
	h5fs_mount d.h5
	ls -lR "$MNT" >/dev/null
	assert_errno EIO read "$MNT/images/000000.png"
	assert_errno EIO read "$MNT/s.txt"
	grep -q '^/s	chunk (0): needs filter 32015' "$MNT/.h5fs/errors"
	grep -q '^/images	chunk (0,0,0): needs filter 32015' "$MNT/.h5fs/errors"
}

@test "FILE cut short under a mount: the errors can still be read" {
	h5_make d.h5 images:u8:64x32x32x3
	h5fs_mount d.h5
	truncate -s 3000 d.h5
	wait_for grep -q . "$MNT/.h5fs/status"
	[ -e "$MNT/.h5fs/errors" ]
}

@test "more attribute names than a list may hold: cut, with the way to the rest" {
	py <<'PY'
with h5py.File('d.h5', 'w', libver='latest') as f:
    g = f.create_group('g')
    for i in range(3000):
        g.attrs['attribute_number_%05d' % i] = i
PY
	h5fs_mount d.h5
	getfattr -d "$MNT/g" >out
	[ "$(grep -c '^user.attribute' out)" -gt 1000 ]
	grep -q '^user.h5fs.more=".attrs/"' out
	assert_eq "$(cat "$MNT/g/.attrs/attribute_number_02999")" 2999
	assert_eq "$(getfattr --only-values -n user.attribute_number_02999 "$MNT/g")" 2999
}

@test "JSON is JSON whatever bytes the strings hold" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    f['m'] = np.array([[b'a', b'\xff\xc3'], [b'\xc3\xa9', b'\\']])
PY
	h5fs_mount d.h5
	py <<'PY'
import json
assert json.loads(open(MNT + '/m.json', 'rb').read()) == [['a', '\\xff\\xc3'], ['é', '\\']]
PY
}

@test "an opaque BMP with NULs behind it is a BMP" {
	py <<'PY'
import io
from PIL import Image
b = io.BytesIO()
Image.fromarray(np.zeros((9, 7), 'u1')).save(b, 'BMP')
with h5py.File('d.h5', 'w') as f:
    f['pic'] = np.void(b.getvalue() + bytes(50))
open('want.bmp', 'wb').write(b.getvalue())
PY
	h5fs_mount d.h5
	cmp "$MNT/pic.bmp" want.bmp
}

@test "flat: pictures can be turned" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    f['x'] = np.random.RandomState(1).randint(0, 256, (3, 14 * 56)).astype('u1')
PY
	h5fs_mount d.h5 layout=/x:flat:14x56+transpose
	py <<'PY'
from png import decode
with h5py.File('d.h5', 'r', locking=False) as f:
    np.testing.assert_array_equal(decode(MNT + '/x/000002.png')[..., 0], f['x'][2].reshape(14, 56).T)
PY
}

@test "norm=sample: each sample tells its own range" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    f['depth_images'] = np.stack([np.linspace(0, k, 400).reshape(20, 20) for k in (10, 1000)])
PY
	h5fs_mount d.h5 layout=/depth_images:norm=sample
	assert_eq "$(getfattr --only-values -n user.h5fs.range "$MNT/depth_images/000000.png")" "[0,10]"
	assert_eq "$(getfattr --only-values -n user.h5fs.range "$MNT/depth_images/000001.png")" "[0,1000]"
}

@test "100,000 pictures in one group are listed once each" {
	[ -z "$SANITIZE" ] || skip "slow under a sanitizer"
	py <<'PY'
with h5py.File('d.h5', 'w', libver='latest') as f:
    g = f.create_group('images')
    a = np.zeros((8, 8, 3), 'u1')
    for i in range(100000):
        g.create_dataset('p%06d' % i, data=a)
PY
	WAIT=60 h5fs_mount d.h5
	assert_eq "$(ls -U "$MNT/images" | grep -c 'png$')" 100000
}

@test "a group that could not be looked into for a lock is looked into again" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    for i in range(40):
        f['g/d%d' % i] = np.zeros((4, 16, 16, 3), 'u1')
    f['g/labels'] = [0, 1, 0, 1]
    f['g/sub/x'] = [1]
    f['soft'] = h5py.SoftLink('/g/sub')     # so that the links of g are known
PY
	h5fs_mount d.h5 ro
	flock -x d.h5 sleep 14 3>&- &
	sleep 0.5
	assert_errno EAGAIN listdir "$MNT/g"
	wait $!
	assert_eq "$(ls "$MNT/g" | wc -l)" 83
	cmp "$MNT/g/d0/000000.png" "$MNT/g/d39/000001.png"
}

@test "a link name with a slash in it hides no sibling" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    for n in ('aQb', 'b', 'c'):
        f['g/' + n] = [1, 2]
b = open('d.h5', 'rb').read()
open('d.h5', 'wb').write(b.replace(b'aQb\0', b'a/b\0'))
PY
	h5fs_mount d.h5
	assert_eq "$(ls "$MNT/g" | grep txt | paste -sd' ')" "a%2Fb.txt b.txt c.txt"
	assert_eq "$(cat "$MNT/g/b.txt" | tr -d ' ' | paste -sd,)" 1,2
}

@test "pictures of a large group are read after it was listed" {
	py <<'PY'
with h5py.File('d.h5', 'w', libver='latest') as f:
    for i in range(3000):
        d = f.create_dataset('g/d%05d' % i, data=np.linspace(0, i + 1, 400, dtype='f4').reshape(20, 20))
        d.attrs['CLASS'] = 'IMAGE'
PY
	WAIT=60 h5fs_mount d.h5
	assert_eq "$(ls -U "$MNT/g" | grep -c png)" 3000
	py <<'PY'
from png import decode
for i in (0, 1500, 2999):
    assert decode(MNT + '/g/d%05d.png' % i).max() == 255
PY
}

@test "a file made large by its chunk asks for no more memory than its extent" {
	[ -z "$SANITIZE" ] || skip "the sanitizer has its own memory"
	py <<'PY'
from h5py import h5d, h5p, h5s, h5t
with h5py.File('d.h5', 'w') as f:
    t = h5t.STD_I32LE.copy()
    t.set_precision(12)
    p = h5p.create(h5p.DATASET_CREATE)
    p.set_chunk(((1 << 28) - 1,))
    h5d.create(f.id, b'x', t, h5s.create_simple((3,), (h5s.UNLIMITED,)), p)
    f.create_dataset('y', (1 << 50,), 'u1', chunks=(1,))
PY
	h5fs_mount d.h5
	assert_eq "$(tr -d ' ' <"$MNT/x.txt" | paste -sd,)" 0,0,0
	[ "$(awk '/VmHWM/ { print $2 }' "/proc/$(daemon_pid)/status")" -lt 200000 ]
	assert_eq "$(timeout 20 head -c 6 "$MNT/y[0:1125899906842623:562949953421311].npy" | tail -c 5)" NUMPY
}

@test "single encoded pictures with a label are in class folders" {
	py <<'PY'
import io
from PIL import Image
b = io.BytesIO()
Image.fromarray(np.zeros((9, 7), 'u1')).save(b, 'JPEG')
with h5py.File('d.h5', 'w') as f:
    for i, c in enumerate(('cat', 'dog', 'cat')):
        f['g/p%d' % i] = np.frombuffer(b.getvalue(), 'u1')
        f['g/p%d' % i].attrs['label'] = c
PY
	h5fs_mount d.h5
	assert_eq "$(cd "$MNT" && find g.by-class/ -type f | sort | paste -sd' ')" \
		"g.by-class/cat/p0.jpg g.by-class/cat/p2.jpg g.by-class/dog/p1.jpg"
	assert_eq "$(stat -c %i:%h "$MNT/g/p1.jpg")" "$(stat -c %i:2 "$MNT/g.by-class/dog/p1.jpg")"
	h5fs_unmount
	h5fs_mount d.h5 view=classes
	assert_eq "$(cd "$MNT" && find . -type f | sort | paste -sd' ')" "./g/cat/p0.jpg ./g/cat/p2.jpg ./g/dog/p1.jpg"
}

@test "a damaged attribute of a group costs its attributes, not its children" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    g = f.create_group('g')
    g.attrs['QQ'] = np.int32(7)
    g['d'] = [1, 2]
    f['s'] = h5py.SoftLink('/g/d')
b = bytearray(open('d.h5', 'rb').read())
i = b.find(b'QQ\0\0\0\0\0\0')
assert i > 0
b[i + 8] = 0xff             # its datatype's version
open('d.h5', 'wb').write(b)
PY
	h5fs_mount d.h5
	ls -lR "$MNT" >/dev/null
	assert_eq "$(tr -d ' ' <"$MNT/s.txt" | paste -sd,)" 1,2
	grep -q '^/g	its attributes can not be read' "$MNT/.h5fs/errors"
}
