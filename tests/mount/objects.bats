#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Objects made, moved and removed by name: groups, links, datasets, pending
# directories, attributes. What is in FILE is looked at with h5py and h5dump.
load ../lib/mount

make_file()
{
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    f['train/images'] = (np.arange(4 * 16 * 16 * 3) % 251).astype('u1').reshape(4, 16, 16, 3)
    f['train/labels'] = np.array([0, 1, 0, 1], 'i8')
    f['train/age'] = np.array([30., 40., 50., 60.], 'f4')
    f['train/images'].attrs['classes'] = ['cat', 'dog']
    f['one'] = (np.arange(16 * 20) % 256).astype('u1').reshape(16, 20)
    f['one'].attrs['CLASS'] = np.bytes_(b'IMAGE')
    f['model/dense/kernel'] = np.linspace(-1, 1, 12, dtype='f4').reshape(4, 3)
    f['model/dense/bias'] = np.zeros(3, 'f4')
    f['words'] = ['a', 'b']
    f.attrs['title'] = 'Patients'
    f['train'].attrs['count'] = np.int32(4)
    f['train'].attrs['scale'] = np.float32(.5)
    f['train'].attrs['list'] = np.array([1, 2, 3], 'u1')
    f['train'].attrs['fixed'] = np.bytes_(b'abcd')
    f['train'].attrs.create('kind', 1, dtype=h5py.enum_dtype({'OFF': 0, 'ON': 1}))
PY
	"$PYTHON" - <<'PY'
import numpy as np
from PIL import Image
np.save('x.npy', np.arange(24, dtype='f4').reshape(4, 6))
np.save('f.npy', np.asfortranarray(np.arange(12, dtype='>i2').reshape(3, 4)))
np.save('kernel.npy', np.arange(12, dtype='f4').reshape(4, 3))
Image.fromarray((np.arange(8 * 10 * 3) % 256).astype('u1').reshape(8, 10, 3)).save('red.png')
Image.fromarray((255 - np.arange(16 * 20) % 256).astype('u1').reshape(16, 20)).save('other.png')
PY
}

# in_file <<'PY' - Python with f, FILE opened for reading beside the mount
in_file()
{
	{ printf 'import h5py\nimport numpy as np\nf = h5py.File("d.h5", "r")\n'; cat; } >"$TMP/in.py"
	"$PYTHON" "$TMP/in.py" && h5dump -H d.h5 >/dev/null
}

# ---- groups and links ----

@test "mkdir makes a group, in the file when it returns" {
	make_file
	h5fs_mount d.h5
	mkdir "$MNT/new" "$MNT/new/deeper" "$MNT/train/a b"
	in_file <<'PY'
assert isinstance(f['new/deeper'], h5py.Group) and len(f['new/deeper']) == 0
assert isinstance(f['train/a b'], h5py.Group)
PY
	ls_is "$MNT/new" deeper
	ls_is "$MNT/new/deeper"
}

@test "names that could not be turned back are refused, and say why" {
	make_file
	h5fs_mount d.h5
	assert_errno EPERM mkdir "$MNT/.hidden"
	assert_errno EINVAL mkdir "$MNT/dir.png"
	assert_errno EINVAL mkdir "$MNT/%41"
	assert_errno EEXIST mkdir "$MNT/train"
	assert_errno EEXIST mkdir "$MNT/words"
	mkdir "$MNT/dir%2Epng"
	in_file <<<"assert 'dir.png' in f"
	assert_match "$(cat "$MNT/.h5fs/errors")" "*dir.png*dir%2Epng*"
	assert_errno EPERM mkdir "$MNT/train/images/sub"
	assert_errno EPERM mkdir "$MNT/.h5fs/x"
}

@test "ln -s makes a soft link to what the path in the mount leads to" {
	make_file
	h5fs_mount d.h5
	ln -s train/images.npy "$MNT/pixels.npy"
	ln -s ../../train "$MNT/model/dense/up"
	ln -s ../one.png "$MNT/train/picture.png"
	ln -s later.npy "$MNT/soon.npy"
	in_file <<'PY'
t = lambda p: f.get(p, getlink=True).path
assert t('pixels') == 'train/images', t('pixels')
assert t('model/dense/up') == '/train'
assert t('train/picture') == '/one'
assert t('soon') == 'later'
assert f['pixels'] == f['train/images'] and f['model/dense/up'] == f['train']
PY
	cmp "$MNT/pixels.npy" "$MNT/train/images.npy"
	assert_eq "$(readlink "$MNT/pixels.npy")" train/images.npy
	cmp "$MNT/train/picture.png" "$MNT/one.png"
	assert_eq "$(readlink "$MNT/soon")" later
	cp x.npy "$MNT/later.npy"
	cmp "$MNT/soon.npy" x.npy || py <<<"assert np.array_equal(np.load(MNT + '/soon.npy'), np.load('x.npy'))"
}

@test "links that HDF5 can not hold are refused" {
	make_file
	h5fs_mount d.h5
	assert_errno EPERM symlink "$MNT/l" /etc/passwd
	assert_errno EPERM symlink "$MNT/l" ../outside
	assert_errno EINVAL symlink "$MNT/l.png" train/images/000000.png
	assert_errno EINVAL symlink "$MNT/l" train/images.npy
	assert_errno EINVAL symlink "$MNT/l.txt" train/images.npy
	assert_errno EEXIST symlink "$MNT/one.png" train/images.npy
	in_file <<<"assert 'l' not in f"
	assert_match "$(cat "$MNT/.h5fs/errors")" "*suffix*"
}

# ---- files into groups ----

@test "a .npy copied into a group is a new dataset: chunked, compressed, growable" {
	make_file
	h5fs_mount d.h5
	cp x.npy "$MNT/train/extra.npy"
	cp f.npy "$MNT/turned.npy"
	in_file <<'PY'
d = f['train/extra']
assert np.array_equal(d[()], np.arange(24).reshape(4, 6)) and d.dtype == 'f4'
assert d.chunks and d.compression == 'gzip' and d.shuffle and d.maxshape[0] is None
assert np.array_equal(f['turned'][()], np.arange(12).reshape(3, 4)) and f['turned'].dtype.kind == 'i'
PY
	py <<'PY'
assert np.array_equal(np.load(MNT + '/train/extra.npy'), np.load('x.npy'))
assert np.array_equal(np.load(MNT + '/turned.npy'), np.load('f.npy'))
PY
	[ -e "$MNT/train/extra.txt" ]
}

@test "an image copied into a group is a new single-image dataset" {
	make_file
	h5fs_mount d.h5
	cp red.png "$MNT/red.png"
	convert red.png -quality 95 photo.jpg
	cp photo.jpg "$MNT/photo.jpg"
	in_file <<'PY'
from PIL import Image
d = f['red']
assert d.shape == (8, 10, 3) and d.dtype == 'u1' and d.attrs['CLASS'] == b'IMAGE'
assert np.array_equal(d[()], np.array(Image.open('red.png')))
assert f['photo'].shape == (8, 10, 3)
PY
	assert_same_pixels "$MNT/red.png" d.h5 red
	[ -e "$MNT/photo.png" ]
	wait_for test ! -e "$MNT/photo.jpg"
}

@test "what is no array and no image is refused at close, and nothing is made" {
	make_file
	h5fs_mount d.h5
	echo hello >hello.txt
	head -c 100 x.npy >short.npy
	head -c 60 red.png >short.png
	run cp hello.txt "$MNT/"
	assert_match "$output" "*Invalid argument*"
	run cp hello.txt "$MNT/hello.npy"
	assert_match "$output" "*Invalid argument*"
	run cp short.npy "$MNT/"
	assert_match "$output" "*Invalid argument*"
	run cp short.png "$MNT/"
	assert_match "$output" "*Invalid argument*"
	in_file <<<"assert set(f) == {'train', 'one', 'model', 'words'}, list(f)"
	ls_is "$MNT" train model one.npy one.png words.txt
	assert_match "$(cat "$MNT/.h5fs/errors")" "*hello.txt*npy*short.png*"
}

@test "what is committed is not changed without edit" {
	make_file
	h5fs_mount d.h5
	sum=$(sha256sum d.h5)
	run cp x.npy "$MNT/model/dense/kernel.npy"
	assert_match "$output" "*not permitted*"
	run cp other.png "$MNT/one.png"
	assert_match "$output" "*not permitted*"
	assert_errno EPERM unlink "$MNT/one.npy"
	assert_errno EPERM unlink "$MNT/train/images/000000.png"
	assert_errno EPERM rmdir "$MNT/model/dense"
	assert_errno EPERM rename "$MNT/one.npy" "$MNT/two.npy"
	assert_errno EPERM rename "$MNT/model" "$MNT/models"
	assert_errno EPERM setxattr "$MNT/train" user.count
	assert_errno EPERM removexattr "$MNT/train" user.count
	assert_errno EPERM setxattr "$MNT/train/images/000000.png" user.label
	assert_errno EPERM setxattr "$MNT/train" user.h5fs.path
	assert_errno EOPNOTSUPP setxattr "$MNT/train" trusted.x
	h5fs_unmount
	assert_eq "$(sha256sum d.h5)" "$sum"
	[ ! -e .d.h5.h5fs ]
}

@test "read-only mounts make nothing" {
	make_file
	h5fs_mount d.h5 ro
	assert_errno EROFS mkdir "$MNT/new"
	assert_errno EROFS setxattr "$MNT/train" user.new
	assert_errno EROFS symlink "$MNT/l" train
}

# ---- pending directories ----

make_case() # DIR
{
	mkdir "$1"
	cp x.npy "$1/oct.npy"
	cp red.png "$1/fundus.png"
	mkdir "$1/masks"
	cp f.npy "$1/masks/drusen.npy"
	ln -s oct.npy "$1/best.npy"
	setfattr -n user.age -v 71 "$1"
	setfattr -n user.spacing -v '[0.5, 0.25]' "$1/oct.npy"
	setfattr -n user.eye -v left "$1/fundus.png"
}

check_case() # HDF5 path
{
	in_file <<PY
from PIL import Image
g = f['$1']
assert g.attrs['age'] == 71 and list(g['oct'].attrs['spacing']) == [.5, .25] and g['fundus'].attrs['eye'] == 'left'
assert np.array_equal(g['oct'][()], np.load('x.npy'))
assert np.array_equal(g['masks/drusen'][()], np.load('f.npy'))
assert np.array_equal(g['fundus'][()], np.array(Image.open('red.png')))
assert g['best'] == g['oct']
PY
}

@test "a case built in a .part directory appears as one transaction" {
	make_file
	h5fs_mount d.h5
	sum=$(sha256sum <d.h5)
	make_case "$MNT/P201.part"
	assert_eq "$(sha256sum <d.h5)" "$sum"
	ls_is "$MNT/P201.part" oct.npy fundus.png masks best.npy
	cmp x.npy "$MNT/P201.part/oct.npy"
	cmp "$MNT/P201.part/best.npy" x.npy
	"$PYTHON" - "$MNT/P201.part/fundus.png" <<'PY'
import sys
import numpy as np
from PIL import Image
assert np.array_equal(np.array(Image.open(sys.argv[1])), np.array(Image.open('red.png')))
PY
	assert_eq "$(stat -c %s "$MNT/P201.part/oct.npy")" "$(stat -c %s x.npy)"
	assert_xattr "$MNT/P201.part" user.age 71
	mv "$MNT/P201.part" "$MNT/P201"
	ls_is "$MNT/P201" oct.npy oct.txt fundus.png fundus.npy masks best.npy best.txt
	assert_xattr "$MNT/P201" user.age 71
	[ ! -e "$MNT/P201.part" ]
	check_case P201
}

@test "a pending directory outlives a killed daemon" {
	make_file
	h5fs_mount d.h5
	make_case "$MNT/train/P7.part"
	kill -9 "$(daemon_pid)"
	wait_for not_mounted "$MNT"
	wait "$PARENT" || true
	PARENT=
	h5fs_mount d.h5
	ls_is "$MNT/train/P7.part" oct.npy fundus.png masks best.npy
	cmp x.npy "$MNT/train/P7.part/oct.npy"
	assert_xattr "$MNT/train/P7.part" user.age 71
	mv "$MNT/train/P7.part" "$MNT/train/P7"
	check_case train/P7
}

@test "within a pending directory files are replaced, moved and removed" {
	make_file
	h5fs_mount d.h5
	make_case "$MNT/p.part"
	cp f.npy "$MNT/p.part/oct.npy"
	mv "$MNT/p.part/masks/drusen.npy" "$MNT/p.part/d.npy"
	rmdir "$MNT/p.part/masks"
	rm "$MNT/p.part/best.npy" "$MNT/p.part/fundus.png"
	mkdir "$MNT/p.part/more"
	assert_errno ENOTEMPTY rmdir "$MNT/p.part"
	assert_errno EEXIST mkdir "$MNT/p.part/oct"
	run cp red.png "$MNT/p.part/oct.png"
	[ "$status" -ne 0 ]
	mv "$MNT/p.part" "$MNT/q.part"
	ls_is "$MNT/q.part" oct.npy d.npy more
	assert_errno EEXIST rename "$MNT/q.part" "$MNT/train"
	mv "$MNT/q.part" "$MNT/q"
	in_file <<'PY'
assert set(f['q']) == {'oct', 'd', 'more'}
assert np.array_equal(f['q/oct'][()], np.load('f.npy'))
PY
	mkdir "$MNT/gone.part"
	cp x.npy "$MNT/gone.part/"
	rm -r "$MNT/gone.part"
	h5fs_unmount
	in_file <<<"assert 'gone' not in f and 'gone.part' not in f"
}

@test "a whole folder is copied into a pending directory" {
	make_file
	mkdir -p case/sub
	cp x.npy case/
	cp red.png case/sub/
	for i in $(seq 300); do cp f.npy "case/sub/n$i.npy"; done
	h5fs_mount d.h5
	cp -r case "$MNT/case.part"
	assert_eq "$(ls "$MNT/case.part/sub" | wc -l)" 301
	mv "$MNT/case.part" "$MNT/case"
	in_file <<<"assert len(f['case/sub']) == 301 and len(f['case']) == 2"
}

# ---- attributes ----

@test "a new attribute is typed by its JSON form, and in the file at once" {
	make_file
	h5fs_mount d.h5
	for d in train one.npy train/images; do
		setfattr -n user.int -v 3 "$MNT/$d"
		setfattr -n user.float -v 0.5 "$MNT/$d"
		setfattr -n user.array -v '[1,2]' "$MNT/$d"
		setfattr -n user.flag -v true "$MNT/$d"
		setfattr -n user.text -v 'caf\303\251' "$MNT/$d"
		setfattr -n user.empty -v '' "$MNT/$d"
		assert_xattr "$MNT/$d" user.int 3
		assert_xattr "$MNT/$d" user.text café
		assert_eq "$(cat "$MNT/$(dirname "$d")/.attrs.$(basename "${d%.npy}")/int" 2>/dev/null ||
			cat "$MNT/$d/.attrs/int")" 3
	done
	in_file <<'PY'
for p in 'train', 'one', 'train/images':
    a = f[p].attrs
    assert a['int'] == 3 and a['int'].dtype == 'i8' and a['int'].shape == (), p
    assert a['float'] == .5 and a['float'].dtype == 'f8'
    assert list(a['array']) == [1, 2] and a['array'].dtype == 'i8'
    assert a['flag'] == True and a['flag'].dtype == '?'
    assert a['text'] == 'café' and a['empty'] == ''
PY
	assert_match "$(getfattr -d "$MNT/train")" '*user.array="\[1, 2\]"*'
	assert_errno EEXIST setxattr_create "$MNT/train" user.int 4
	assert_errno ENODATA setxattr_replace "$MNT/train" user.nothing 4
}

@test "edit: an attribute keeps its type, and what does not fit changes nothing" {
	make_file
	h5fs_mount d.h5 edit
	setfattr -n user.count -v 7 "$MNT/train"
	setfattr -n user.scale -v 0.25 "$MNT/train"
	setfattr -n user.list -v '[9,8,7]' "$MNT/train"
	setfattr -n user.kind -v OFF "$MNT/train"
	setfattr -n user.fixed -v xy "$MNT/train"
	setfattr -n user.title -v 'A much longer title than before' "$MNT"
	assert_errno EINVAL setxattr "$MNT/train" user.count 1.5
	assert_errno EINVAL setxattr "$MNT/train" user.count text
	assert_errno EINVAL setxattr "$MNT/train" user.count 99999999999
	assert_errno EINVAL setxattr "$MNT/train" user.list '[1,2]'
	assert_errno EINVAL setxattr "$MNT/train" user.list '[1,2,300]'
	assert_errno EINVAL setxattr "$MNT/train" user.kind MAYBE
	in_file <<'PY'
a = f['train'].attrs
assert a['count'] == 7 and a['count'].dtype == 'i4'
assert a['scale'] == .25 and a['scale'].dtype == 'f4'
assert list(a['list']) == [9, 8, 7] and a['list'].dtype == 'u1'
assert a['kind'] == 0 and h5py.check_enum_dtype(a.get_id('kind').dtype) == {'OFF': 0, 'ON': 1}
assert a['fixed'] == b'xy' and f.attrs['title'] == 'A much longer title than before'
PY
	setfattr -x user.list "$MNT/train"
	no_xattr "$MNT/train" user.list
	assert_errno ENODATA removexattr "$MNT/train" user.list
	in_file <<<"assert 'list' not in f['train'].attrs"
}

@test "edit: a row's values are set on its sample" {
	make_file
	h5fs_mount d.h5 edit
	s=$MNT/train/images/000002.png
	setfattr -n user.label -v 1 "$s"
	setfattr -n user.age -v 51.5 "$s"
	assert_xattr "$s" user.label 1
	assert_xattr "$s" user.class dog
	wait_for test -e "$MNT/train/images.by-class/dog/000002.png"
	wait_for test ! -e "$MNT/train/images.by-class/cat/000002.png"
	setfattr -n user.class -v cat "$MNT/train/images/000003.png"
	assert_errno EINVAL setxattr "$s" user.class horse
	assert_errno EINVAL setxattr "$s" user.age old
	assert_errno EOPNOTSUPP setxattr "$s" user.nothing 1
	in_file <<'PY'
assert list(f['train/labels']) == [0, 1, 1, 0] and list(f['train/age']) == [30, 40, 51.5, 60]
PY
}

# ---- edit: objects ----

@test "edit: a dataset moves with all its entries" {
	make_file
	h5fs_mount d.h5 edit
	before=$(sha256sum <"$MNT/train/images.npy")
	mv "$MNT/train/images.npy" "$MNT/model/pictures.npy"
	[ ! -e "$MNT/train/images/000000.png" ]
	assert_eq "$(sha256sum <"$MNT/model/pictures.npy")" "$before"
	[ -e "$MNT/model/pictures/000003.png" ]
	ls_is "$MNT/train" labels.npy labels.txt age.npy age.txt
	mv "$MNT/model/pictures" "$MNT/model/again"
	[ -e "$MNT/model/again.npy" ]
	mv "$MNT/model" "$MNT/net"
	mv "$MNT/one.png" "$MNT/net/two.png"
	ls_is "$MNT/net" again again.npy dense two.png two.npy
	in_file <<'PY'
assert set(f['net']) == {'again', 'dense', 'two'} and set(f) == {'net', 'train', 'words'}
assert f['net/again'].shape == (4, 16, 16, 3)
PY
	assert_errno EINVAL rename "$MNT/net/two.png" "$MNT/net/two.npy"
	assert_errno EEXIST rename "$MNT/net/two.png" "$MNT/net/again.png"
	assert_errno EINVAL rename "$MNT/net" "$MNT/net/dense/x"
	assert_errno EPERM rename "$MNT/net/two.png" "$MNT/net/.two.png"
}

@test "edit: another dataset under the old name is another file" {
	make_file
	h5fs_mount d.h5 edit
	old=$(sha256sum <"$MNT/one.npy")
	exec 7<"$MNT/one.npy"
	mv "$MNT/one.npy" "$MNT/two.npy"
	cp x.npy "$MNT/one.npy"
	assert_eq "$(sha256sum <"$MNT/two.npy")" "$old"
	py <<<"assert np.array_equal(np.load(MNT + '/one.npy'), np.load('x.npy'))"
	refute cmp -s - x.npy <&7
	exec 7<&-
}

@test "edit: removing one entry of a dataset removes it; rows are never removed" {
	make_file
	h5fs_mount d.h5 edit
	assert_errno EPERM unlink "$MNT/train/images/000000.png"
	assert_errno EPERM rmdir "$MNT/train/images.by-class"
	rm "$MNT/one.npy"
	[ ! -e "$MNT/one.png" ]
	rmdir "$MNT/train/images"
	[ ! -e "$MNT/train/images.npy" ]
	assert_errno ENOTEMPTY rmdir "$MNT/model"
	rm -rf "$MNT/model"
	[ ! -e "$MNT/model" ]
	mkdir "$MNT/empty"
	rmdir "$MNT/empty"
	ln -s train "$MNT/link"
	rm "$MNT/link"
	in_file <<<"assert set(f) == {'train', 'words'} and set(f['train']) == {'labels', 'age'}"
	ls_is "$MNT" train words.txt
}

@test "edit: a .npy over a dataset gives its values, if shape and type allow" {
	make_file
	h5fs_mount d.h5 edit
	cp kernel.npy "$MNT/model/dense/kernel.npy"
	in_file <<<"assert np.array_equal(f['model/dense/kernel'][()], np.arange(12).reshape(4, 3)) and f['model/dense/kernel'].dtype == 'f4'"
	cmp kernel.npy "$MNT/model/dense/kernel.npy"
	py <<'PY'
k = MNT + '/model/dense/'
np.save('i.npy', np.asfortranarray(np.arange(12, 24, dtype='>i4').reshape(4, 3)))
np.save('t.npy', np.arange(12, dtype='f4').reshape(3, 4))
np.save('d.npy', np.full((4, 3), 1e300))
np.save('c.npy', np.full((4, 3), 1j))
PY
	cp i.npy "$MNT/model/dense/kernel.npy"
	in_file <<<"assert np.array_equal(f['model/dense/kernel'][()], np.arange(12, 24).reshape(4, 3))"
	for bad in t d c; do
		run cp $bad.npy "$MNT/model/dense/kernel.npy"
		assert_match "$output" "*Invalid argument*"
	done
	in_file <<<"assert np.array_equal(f['model/dense/kernel'][()], np.arange(12, 24).reshape(4, 3))"
	assert_match "$(cat "$MNT/.h5fs/errors")" "*(3, 4)*(4, 3)*"
	py <<<"assert np.array_equal(np.load(MNT + '/model/dense/kernel.npy'), np.arange(12, 24).reshape(4, 3))"
}

@test "edit: an image over a single picture replaces it" {
	make_file
	h5fs_mount d.h5 edit
	cp other.png "$MNT/one.png"
	in_file <<'PY'
from PIL import Image
assert np.array_equal(f['one'][()], np.array(Image.open('other.png'))) and f['one'].attrs['CLASS'] == b'IMAGE'
PY
	assert_same_pixels "$MNT/one.png" d.h5 one
	run cp red.png "$MNT/one.png"
	assert_match "$output" "*Invalid argument*"
	assert_same_pixels "$MNT/one.png" d.h5 one
}

first_label_is() { [ "$(head -n 1 "$MNT/train/labels.txt" | tr -d ' ')" = "$1" ]; }

@test "edit: samples whose values were changed through the .npy are read afresh" {
	make_file
	h5fs_mount d.h5 edit
	cat "$MNT/train/images/"*.png >/dev/null
	cat "$MNT/train/labels.txt" >/dev/null
	py <<'PY'
np.save('new.npy', 255 - np.load(MNT + '/train/images.npy'))
PY
	cp new.npy "$MNT/train/images.npy"
	for i in 0 1 2 3; do
		assert_same_pixels "$MNT/train/images/00000$i.png" d.h5 train/images $i
	done
	setfattr -n user.label -v 1 "$MNT/train/images/000000.png"
	wait_for first_label_is 1
}

# The kernel is told a moment after setfattr has returned.
@test "edit: an attribute that says how a dataset is shown takes effect" {
	make_file
	h5fs_mount d.h5 edit
	cmp "$MNT/one.png" "$MNT/one.png"
	setfattr -x user.CLASS "$MNT/one.npy"
	wait_for test ! -e "$MNT/one.png"
	ls_is "$MNT" train model one.npy one.txt words.txt
	setfattr -n user.CLASS -v IMAGE "$MNT/one.npy"
	wait_for assert_same_pixels "$MNT/one.png" d.h5 one
	setfattr -n user.IMAGE_WHITE_IS_ZERO -v 1 "$MNT/one.npy"
	wait_for refute assert_same_pixels "$MNT/one.png" d.h5 one
}

@test "edit: a link goes on answering when its target goes" {
	make_file
	h5fs_mount d.h5 edit
	mkdir "$MNT/case"
	cp x.npy "$MNT/case/x.npy"
	ln -s x.npy "$MNT/case/y.npy"
	ln -s later.npy "$MNT/soon.npy"
	[ -L "$MNT/soon.npy" ]
	mv "$MNT/soon.npy" "$MNT/some.npy"
	in_file <<<"assert f.get('some', getlink=True).path == 'later'"
	rm -rf "$MNT/case"
	[ ! -e "$MNT/case" ]
	rm "$MNT/some.npy"
	in_file <<<"assert set(f) == {'train', 'one', 'model', 'words'}"
}

# ---- tools ----

@test "cp -a, rsync, tar and install put objects into groups and pending directories" {
	make_file
	mkdir -p case/sub
	cp x.npy case/
	cp red.png case/sub/
	ln -s ../x.npy case/sub/up.npy
	h5fs_mount d.h5
	cp -a case "$MNT/a.part"
	rsync -a case/ "$MNT/b.part/" || rsync -a case/ "$MNT/b.part/"
	mkdir "$MNT/c.part"
	tar c -C case . | tar x -C "$MNT/c.part"
	cp -a case "$MNT/d"
	mkdir "$MNT/e"
	rsync -a case/ "$MNT/e/"
	install -m 644 x.npy "$MNT/e/installed.npy"
	for p in a b c; do mv "$MNT/$p.part" "$MNT/$p"; done
	in_file <<'PY'
for p in 'abcde':
    g = f[p]
    assert set(g) - {'installed'} == {'x', 'sub'} and set(g['sub']) == {'red', 'up'}, (p, list(g), list(g['sub']))
    assert g['sub/up'] == g['x'] and np.array_equal(g['x'][()], np.load('x.npy')), p
assert np.array_equal(f['e/installed'][()], np.load('x.npy'))
PY
}

@test "a file held back in a group gets its verdict when it is renamed" {
	make_file
	h5fs_mount d.h5
	cp x.npy "$MNT/.x.npy.tmp123"
	in_file <<<"assert len(f) == 4"
	mv "$MNT/.x.npy.tmp123" "$MNT/train/late.npy"
	in_file <<<"assert np.array_equal(f['train/late'][()], np.load('x.npy'))"
	echo nothing >"$MNT/model/bad.tmp"
	assert_errno EINVAL rename "$MNT/model/bad.tmp" "$MNT/model/bad.npy"
	rm -f "$MNT/model/bad.tmp"
	in_file <<<"assert 'bad' not in f['model']"
}

@test "objects in files that a link leads to are not changed" {
	make_file
	py <<'PY'
with h5py.File('other.h5', 'w') as f:
    f['g/x'] = np.arange(3)
with h5py.File('d.h5', 'a') as f:
    f['ext'] = h5py.ExternalLink('other.h5', '/g')
PY
	sum=$(sha256sum other.h5)
	h5fs_mount d.h5 edit
	assert_errno EROFS mkdir "$MNT/ext/new"
	assert_errno EROFS mkdir "$MNT/ext/new.part"
	assert_errno EROFS unlink "$MNT/ext/x.npy"
	assert_errno EROFS setxattr "$MNT/ext" user.new
	run cp f.npy "$MNT/ext/y.npy"
	[ "$status" -ne 0 ]
	rmdir "$MNT/ext"
	h5fs_unmount
	assert_eq "$(sha256sum other.h5)" "$sum"
	py <<<"assert 'ext' not in h5py.File('d.h5', 'r')"
}

@test "edit: a group below which something is put together stays where it is" {
	make_file
	h5fs_mount d.h5 edit
	mkdir "$MNT/model/case.part"
	assert_errno EBUSY rename "$MNT/model" "$MNT/net"
	mv "$MNT/model/case.part" "$MNT/model/case"
	mv "$MNT/model" "$MNT/net"
	in_file <<<"assert 'case' in f['net']"
	mkdir "$MNT/empty" "$MNT/empty/x.part"
	assert_errno EBUSY rmdir "$MNT/empty"
	rmdir "$MNT/empty/x.part" "$MNT/empty"
}

@test "edit: weights of a Keras model are changed in place" {
	make_file
	py <<'PY'
with h5py.File('w.h5', 'w') as f:
    f.attrs['backend'], f.attrs['keras_version'] = b'tensorflow', b'2.9.0'
    f.attrs['layer_names'] = np.array([b'dense_1'])
    g = f.create_group('dense_1')
    g.attrs['weight_names'] = np.array([b'dense_1/kernel:0', b'dense_1/bias:0'])
    g['dense_1/kernel:0'] = np.linspace(-1, 1, 512, dtype='f4').reshape(32, 16)
    g['dense_1/bias:0'] = np.zeros(16, 'f4')
np.save('k.npy', np.full((32, 16), .5, 'f4'))
PY
	h5fs_mount w.h5 edit
	cp k.npy "$MNT/dense_1/dense_1/kernel:0.npy"
	py <<'PY'
p = MNT + '/dense_1/dense_1/bias:0.npy'
m = np.load(p)
m[3] = 7
np.save(p, m)
with h5py.File('w.h5', 'r') as f:
    g = f['dense_1']
    assert (g['dense_1/kernel:0'][()] == .5).all() and g['dense_1/bias:0'][3] == 7
    assert list(g.attrs['weight_names']) == [b'dense_1/kernel:0', b'dense_1/bias:0']
PY
	h5dump w.h5 >/dev/null
}

# ---- the end of the daemon ----

churn()
{
	while is_mounted "$MNT" && mkdir "$MNT/a" && mv "$MNT/a" "$MNT/b" && rmdir "$MNT/b"; do :; done 2>/dev/null
}

@test "a daemon that is killed while names change leaves nobody waiting" {
	make_file
	for _ in 1 2 3 4; do
		h5fs_mount d.h5 edit
		churn 3>&- &
		worker=$!
		sleep "0.$((RANDOM % 5 + 3))"
		kill -9 "$(daemon_pid)"
		wait_for not_mounted "$MNT"
		wait_for_end "$worker"
		wait "$PARENT" || true
		PARENT=
		rm -rf "${MNT:?}"/*
	done
	h5fs_mount d.h5
	in_file <<<"assert set(f) - {'a', 'b'} == {'train', 'one', 'model', 'words'}"
}
