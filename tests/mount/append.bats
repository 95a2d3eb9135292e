#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Samples are copied in: each copy is a row, whole or not at all.
load ../lib/mount

picture() { "$PYTHON" "$LIB/pictures.py" make "$@"; } # FILE MODE WxH SEED [KEY=VALUE...]
same() { "$PYTHON" "$LIB/pictures.py" same "$1" "${4:-d.h5}" "$2" "$3"; }
errors() { grep -v '^$' "$MNT/.h5fs/errors" || true; }
commit() { "$H5FS" commit "$MNT"; }

# values DATASET - of d.h5, as Python prints the list
values()
{
	"$PYTHON" - "$1" <<'PY'
import sys
import h5py
with h5py.File('d.h5', 'r') as f:
    v = f[sys.argv[1]][()]
    print([x.decode() if isinstance(x, bytes) else x for x in v.tolist()])
PY
}

# No labels, no names: a stack of grey pictures alone.
stack() { h5_make d.h5 images:u8:3x16x20:grow:chunk=4x16x20; }

# Pictures with labels that have names.
labelled()
{
	h5_make d.h5 train/images:u8:4x16x20x3:grow:gzip train/labels:i32:4:mod=3:grow
	py <<'PY'
with h5py.File('d.h5', 'a') as f:
    f['train'].attrs['label_names'] = ['cat', 'dog', 'bird']
PY
}

# Pictures with masks.
pairs() { h5_make d.h5 images:u8:2x16x20x3:grow masks:u8:2x16x20:mod=3:grow; }

# ---- one picture, one row ----

@test "a copied picture is the next row, and its pixels are exact" {
	stack
	picture new.png L 20x16 1
	h5fs_mount d.h5
	cp new.png "$MNT/images/"
	ls_is "$MNT/images" 000000.png 000001.png 000002.png new.png
	h5fs_unmount
	same new.png images 3
	assert_eq "$(ls -A "$TMP" | grep h5fs$)" ""
}

@test "while staged it is read back as the picture that will be committed" {
	stack
	picture new.jpg L 20x16 1 quality=95
	h5fs_mount d.h5 commit=manual
	cp new.jpg "$MNT/images/"
	cmp -n 4 "$MNT/images/new.jpg" "$MNT/images/000000.png"
	assert_eq "$(stat -c %s "$MNT/images/new.jpg")" "$(stat -c %s "$MNT/images/000000.png")"
	cp "$MNT/images/new.jpg" seen.png
	commit
	cmp seen.png "$MNT/images/000003.png"
	cmp seen.png "$MNT/images/new.jpg"
	h5fs_unmount
	same seen.png images 3
}

@test "what is committed is what h5py would have written" {
	labelled
	cp d.h5 want.h5
	picture a.png RGB 20x16 1
	picture b.png RGB 20x16 2
	h5fs_mount d.h5
	cp a.png "$MNT/train/images.by-class/dog/"
	cp b.png "$MNT/train/images.by-class/cat/"
	h5fs_unmount
	py <<'PY'
from PIL import Image
with h5py.File('want.h5', 'a') as f:
    for name, label in ('a.png', 1), ('b.png', 0):
        for d, v in ('images', np.array(Image.open(name))), ('labels', label):
            d = f['train'][d]
            d.resize(d.shape[0] + 1, 0)
            d[-1] = v
PY
	h5diff -v d.h5 want.h5
	h5dump d.h5 >/dev/null
}

@test "rows come in the order in which they were closed" {
	stack
	h5fs_mount d.h5
	for i in 5 3 9 1; do
		picture $i.png L 20x16 $i
		cp $i.png "$MNT/images/"
	done
	h5fs_unmount
	same 5.png images 3 && same 3.png images 4 && same 9.png images 5 && same 1.png images 6
}

@test "the clients people use" {
	stack
	h5fs_mount d.h5
	for i in 1 2 3 4 5 6 7 8; do picture $i.png L 20x16 $i; done
	mkdir tree && cp 7.png 8.png tree
	tar cf t.tar -C tree 7.png
	cp 1.png "$MNT/images/"
	cp -p 2.png "$MNT/images/"
	cp 3.png m.png && mv m.png "$MNT/images/3.png"
	install -m 600 4.png "$MNT/images/4.png"
	cat 5.png >"$MNT/images/5.png"
	dd if=6.png of="$MNT/images/6.png" status=none bs=100
	tar xf t.tar -C "$MNT/images"
	rsync -a tree/8.png "$MNT/images/"
	h5fs_unmount
	for i in 1 2 3 4 5 6 7 8; do same $i.png images $((i + 2)); done
}

@test "programs that save where they are told: Pillow, a pipe, an attribute first" {
	labelled
	picture a.png RGB 20x16 1
	picture b.png RGB 20x16 2
	setfattr -n user.class -v bird b.png
	setfattr -n user.comment -v none b.png
	h5fs_mount d.h5
	py <<'PY'
import subprocess
from PIL import Image
Image.open('a.png').save(MNT + '/train/images.by-class/dog/p.png')
with open(MNT + '/train/images.by-class/cat/q.png', 'wb') as f:
    subprocess.run(['cat', 'a.png'], stdout=f, check=True)
PY
	cp -a b.png "$MNT/train/images/"
	assert_xattr "$MNT/train/images/b.png" user.h5fs.staged complete
	h5fs_unmount
	same a.png train/images 4 && same a.png train/images 5 && same b.png train/images 6
	assert_eq "$(values train/labels)" "[0, 1, 2, 0, 1, 0, 2]"
}

@test "what is removed while it is written adds nothing" {
	stack
	picture a.png L 20x16 1
	h5fs_mount d.h5
	exec 7>"$MNT/images/a.png"
	cat a.png >&7
	rm "$MNT/images/a.png"
	exec 7>&-
	ls_is "$MNT/images" 000000.png 000001.png 000002.png
	h5fs_unmount
	assert_eq "$("$PYTHON" -c 'import h5py; print(h5py.File("d.h5")["images"].shape[0])')" 3
}

@test "cp -n and rsync --ignore-existing can be repeated, before and after a commit" {
	stack
	mkdir in
	for i in 1 2 3; do picture in/$i.png L 20x16 $i; done
	h5fs_mount d.h5
	cp -n in/*.png "$MNT/images/"
	cp -n in/*.png "$MNT/images/"
	rsync -a --ignore-existing in/ "$MNT/images/"
	commit
	cp -n in/*.png "$MNT/images/"
	rsync -a --ignore-existing in/ "$MNT/images/"
	rsync -a --ignore-existing in/ "$MNT/images/"
	h5fs_unmount
	assert_eq "$("$PYTHON" -c 'import h5py; print(h5py.File("d.h5")["images"].shape[0])')" 6
}

@test "a name that is committed is not added again, and the file stays as it is" {
	stack
	picture a.png L 20x16 1
	picture b.png L 20x16 2
	h5fs_mount d.h5
	cp a.png "$MNT/images/a.png"
	commit
	refute cp b.png "$MNT/images/a.png"
	refute cp b.png "$MNT/images/000001.png"
	assert_errno EPERM open_write "$MNT/images/a.png"
	assert_errno EPERM unlink "$MNT/images/000001.png"
	assert_errno EPERM rename "$MNT/images/000001.png" "$MNT/images/x.png"
	assert_match "$(errors)" "*-o edit*"
	h5fs_unmount
	same a.png images 3
}

@test "a staged file is replaced, moved and removed" {
	stack
	picture a.png L 20x16 1
	picture b.png L 20x16 2
	h5fs_mount d.h5 commit=manual
	cp a.png "$MNT/images/x.png"
	cp b.png "$MNT/images/x.png"
	mv "$MNT/images/x.png" "$MNT/images/y.png"
	cp a.png "$MNT/images/z.png"
	rm "$MNT/images/z.png"
	ls_is "$MNT/images" 000000.png 000001.png 000002.png y.png
	commit
	h5fs_unmount
	same b.png images 3
	assert_eq "$("$PYTHON" -c 'import h5py; print(h5py.File("d.h5")["images"].shape[0])')" 4
}

@test "what is staged is there at the next mount" {
	stack
	picture a.png L 20x16 1
	h5fs_mount d.h5 commit=manual
	cp a.png "$MNT/images/"
	h5fs_unmount
	h5fs_mount d.h5 commit=manual
	ls_is "$MNT/images" 000000.png 000001.png 000002.png a.png
	commit
	h5fs_unmount
	same a.png images 3
}

# ---- what is refused ----

@test "what does not fit is refused, and what would accept it is said" {
	stack
	picture large.png L 40x32 1
	picture deep.png 'I;16' 20x16 1
	picture cut.jpg L 20x16 1 cut=40
	echo text >text.png
	h5fs_mount d.h5
	for f in large.png deep.png cut.jpg text.png; do
		refute cp $f "$MNT/images/"
		assert_errno ENOENT stat "$MNT/images/$f"
	done
	errors >said
	grep -q 'images/large.png.*fit=resize' said
	grep -q 'images/cut.jpg.*truncated' said
	grep -q 'images/text.png' said
	grep -q 'images/deep.png' said
	h5fs_unmount
	assert_eq "$("$PYTHON" -c 'import h5py; print(h5py.File("d.h5")["images"].shape[0])')" 3
}

@test "fit=resize takes other sizes" {
	stack
	picture large.png L 40x32 1
	h5fs_mount d.h5 fit=resize
	cp large.png "$MNT/images/"
	h5fs_unmount
	assert_eq "$("$PYTHON" -c 'import h5py; print(h5py.File("d.h5")["images"].shape[0])')" 4
}

@test "grey becomes RGB, and opaque RGBA loses its alpha" {
	h5_make d.h5 images:u8:2x16x20x3:grow
	picture grey.png L 20x16 1
	picture rgba.png RGBA 20x16 2 opaque
	picture clear.png RGBA 20x16 3
	h5fs_mount d.h5
	cp grey.png rgba.png "$MNT/images/"
	refute cp clear.png "$MNT/images/"
	h5fs_unmount
	py <<'PY'
from PIL import Image
f = h5py.File('d.h5')['images']
assert f.shape[0] == 4
assert (f[2] == np.array(Image.open('grey.png'))[..., None]).all()
assert (f[3] == np.array(Image.open('rgba.png'))[..., :3]).all()
PY
}

@test "16 bits stay 16 bits" {
	h5_make d.h5 images:u16:2x16x20:grow
	picture deep.png 'I;16' 20x16 1
	h5fs_mount d.h5
	cp deep.png "$MNT/images/"
	h5fs_unmount
	same deep.png images 2
}

@test "an empty file adds nothing, and says so" {
	stack
	h5fs_mount d.h5
	touch "$MNT/images/x.png"
	wait_for grep -q 'images/x.png.*empty' "$MNT/.h5fs/errors"
	picture a.png L 20x16 1
	cp a.png "$MNT/images/x.png"
	h5fs_unmount
	same a.png images 3
}

@test "a dataset that cannot grow is refused until -o grow" {
	h5_make d.h5 images:u8:3x16x20
	picture a.png L 20x16 1
	h5fs_mount d.h5
	assert_errno EOPNOTSUPP create "$MNT/images/a.png"
	assert_match "$(errors)" "*-o grow*"
	h5fs_unmount
	h5fs_mount d.h5 grow
	cp a.png "$MNT/images/"
	h5fs_unmount
	same a.png images 3
	assert_eq "$("$PYTHON" -c 'import h5py; print(h5py.File("d.h5")["images"].maxshape)')" "(None, 16, 20)"
}

@test "scaled pictures are refused; their values can be copied as .npy" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    f.create_dataset('depth', data=np.linspace(0, 9, 3 * 256, dtype='f4').reshape(3, 16, 16), maxshape=(None, 16, 16))
np.save('row.npy', np.full((16, 16), 77, 'f4'))
PY
	picture a.png L 16x16 1
	h5fs_mount d.h5
	assert_errno EOPNOTSUPP create "$MNT/depth/a.png"
	cp "$MNT/depth/000001.png" before.png
	cp row.npy "$MNT/depth/"
	commit
	cmp before.png "$MNT/depth/000001.png"
	h5fs_unmount
	py <<'PY'
f = h5py.File('d.h5')['depth']
assert f.shape == (4, 16, 16) and (f[3] == 77).all()
assert f.attrs['h5fs.norm'] == 'float-minmax', dict(f.attrs)
PY
}

@test "a rule that came from the values stays with the first append" {
	py <<'PY'
from PIL import Image
with h5py.File('d.h5', 'w') as f:
    f.create_dataset('images', data=np.linspace(0, 1, 3 * 16 * 20, dtype='f4').reshape(3, 16, 20), maxshape=(None, 16, 20))
Image.fromarray(np.full((16, 20), 51, 'u1')).save('a.png')
PY
	h5fs_mount d.h5
	cp "$MNT/images/000001.png" before.png
	cp a.png "$MNT/images/"
	commit
	assert_xattr "$MNT/images" user.h5fs.norm float-unit
	cmp before.png "$MNT/images/000001.png"
	h5fs_unmount
	py <<'PY'
f = h5py.File('d.h5')['images']
assert f.shape[0] == 4 and np.allclose(f[3], 51 / 255)
assert f.attrs['h5fs.norm'] == 'float-unit' and list(f.attrs['h5fs.range']) == [0, 1]
PY
}

@test "an empty stack takes its first picture" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    f.create_dataset('u/images', (0, 16, 20, 3), 'u1', maxshape=(None, 16, 20, 3))
    f.create_dataset('u/labels', (0,), 'i8', maxshape=(None,))
    f['u/labels'].attrs['label_names'] = ['cat', 'dog']
    f.create_dataset('float/images', (0, 16, 20), 'f4', maxshape=(None, 16, 20))
PY
	picture a.png RGB 20x16 1
	picture g.png L 20x16 1
	h5fs_mount d.h5
	ls_is "$MNT/u/images"
	assert_errno EOPNOTSUPP create "$MNT/float/images/g.png"
	cp a.png "$MNT/u/images.by-class/dog/"
	h5fs_unmount
	same a.png u/images 0
	assert_eq "$(values u/labels)" "[1]"
}

# ---- classes ----

@test "a picture copied into a class folder has its label" {
	labelled
	picture a.png RGB 20x16 1
	h5fs_mount d.h5
	cp a.png "$MNT/train/images.by-class/bird/"
	assert_xattr "$MNT/train/images.by-class/bird/a.png" user.class bird
	assert_xattr "$MNT/train/images.by-class/bird/a.png" user.label 2
	assert_xattr "$MNT/train/images.by-class/bird/a.png" user.h5fs.staged complete
	commit
	ls_is "$MNT/train/images.by-class/bird" 000002.png 000004.png
	stat "$MNT/train/images.by-class/bird/a.png"
	h5fs_unmount
	same a.png train/images 4
	assert_eq "$(values train/labels)" "[0, 1, 2, 0, 2]"
}

@test "in view=classes too, and staged files move between classes" {
	labelled
	picture a.png RGB 20x16 1
	h5fs_mount d.h5 view=classes commit=manual
	cp a.png "$MNT/train/cat/"
	mv "$MNT/train/cat/a.png" "$MNT/train/dog/"
	ls_is "$MNT/train/dog" 000001.png a.png
	ls_is "$MNT/train/cat" 000000.png 000003.png
	commit
	h5fs_unmount
	assert_eq "$(values train/labels)" "[0, 1, 2, 0, 1]"
}

@test "a row without a label waits, and setfattr completes it" {
	labelled
	picture a.png RGB 20x16 1
	picture b.png RGB 20x16 2
	h5fs_mount d.h5
	cp a.png b.png "$MNT/train/images/"
	assert_xattr "$MNT/train/images/a.png" user.h5fs.staged labels
	commit || true
	assert_match "$("$H5FS" status "$MNT")" "*labels*"
	setfattr -n user.labels -v 1 "$MNT/train/images/a.png"
	setfattr -n user.class -v bird "$MNT/train/images/b.png"
	assert_errno EINVAL setxattr "$MNT/train/images/b.png" user.labels x
	commit
	h5fs_unmount
	assert_eq "$(values train/labels)" "[0, 1, 2, 0, 1, 2]"
}

@test "mkdir makes a new class and extends the names" {
	labelled
	picture a.png RGB 20x16 1
	h5fs_mount d.h5
	mkdir "$MNT/train/images.by-class/fish"
	ls_is "$MNT/train/images.by-class" cat dog bird fish
	cp a.png "$MNT/train/images.by-class/fish/"
	refute mkdir "$MNT/train/images.by-class/cat"
	h5fs_unmount
	assert_eq "$(values train/labels)" "[0, 1, 2, 0, 3]"
	py <<'PY'
assert list(h5py.File('d.h5')['train'].attrs['label_names']) == ['cat', 'dog', 'bird', 'fish']
PY
}

@test "new classes of labels that are texts, or numbers without names" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    for g, l in ('t', np.array(['dog', 'emu'], dtype=h5py.string_dtype())), ('n', np.array([4, 7], 'u1')):
        f.create_dataset(g + '/images', data=np.zeros((2, 16, 20, 3), 'u1'), maxshape=(None, 16, 20, 3))
        f.create_dataset(g + '/labels', data=l, maxshape=(None,))
PY
	picture a.png RGB 20x16 1
	h5fs_mount d.h5
	mkdir "$MNT/t/images.by-class/ape" "$MNT/n/images.by-class/5"
	assert_errno EINVAL mkdir "$MNT/n/images.by-class/five"
	assert_errno EINVAL mkdir "$MNT/n/images.by-class/256"
	ls_is "$MNT/t/images.by-class" ape dog emu
	ls_is "$MNT/n/images.by-class" 4 5 7
	cp a.png "$MNT/t/images.by-class/ape/"
	cp a.png "$MNT/n/images.by-class/5/"
	cp a.png "$MNT/t/images.by-class/dog/b.png"
	commit
	# the folders that were there are still what they were
	ls_is "$MNT/t/images.by-class/dog" 000000.png 000003.png
	ls_is "$MNT/t/images.by-class/ape" 000002.png
	mkdir "$MNT/t/images.by-class/zebra"
	rmdir "$MNT/t/images.by-class/zebra"
	h5fs_unmount
	assert_eq "$(values t/labels)" "['dog', 'emu', 'ape', 'dog']"
	assert_eq "$(values n/labels)" "[4, 7, 5]"
}

@test "names of classes are extended wherever they are listed" {
	py <<'PY'
import json
with h5py.File('d.h5', 'w') as f:
    def make(g):
        f.create_dataset(g + '/images', data=np.zeros((2, 16, 20, 3), 'u1'), maxshape=(None, 16, 20, 3))
        return f.create_dataset(g + '/labels', data=np.arange(2, dtype='u1'), maxshape=(None,))
    make('fixed').attrs['label_names'] = np.array([b'cat', b'dog'], 'S3')
    make('list').attrs['classes'] = json.dumps(['cat', 'dog'])
    make('map').attrs['label_map'] = json.dumps({'cat': 0, 'dog': 1})
    make('data')
    f.create_dataset('data/class_names', data=['cat', 'dog'], dtype=h5py.string_dtype(), maxshape=(None,))
    make('stuck')
    f.create_dataset('stuck/class_names', data=['cat', 'dog'], dtype=h5py.string_dtype())
PY
	picture a.png RGB 20x16 1
	h5fs_mount d.h5
	for g in fixed list map data; do
		mkdir "$MNT/$g/images.by-class/zebra"
		cp a.png "$MNT/$g/images.by-class/zebra/"
	done
	assert_errno EOPNOTSUPP mkdir "$MNT/stuck/images.by-class/zebra"
	h5fs_unmount
	py <<'PY'
import json
f = h5py.File('d.h5')
for g in 'fixed', 'list', 'map', 'data':
    assert f[g]['labels'][2] == 2, g
assert f['fixed/labels'].attrs['label_names'].tolist() == [b'cat', b'dog', b'zebra']
assert json.loads(f['list/labels'].attrs['classes']) == ['cat', 'dog', 'zebra']
assert json.loads(f['map/labels'].attrs['label_map']) == {'cat': 0, 'dog': 1, 'zebra': 2}
assert [x.decode() for x in f['data/class_names']] == ['cat', 'dog', 'zebra']
PY
	h5fs_mount d.h5 classes=both
	assert_errno EINVAL mkdir "$MNT/list/images.by-class/fish"
	mkdir "$MNT/list/images.by-class/3_fish"
	ls_is "$MNT/list/images.by-class" 0_cat 1_dog 2_zebra 3_fish
	h5fs_unmount
}

@test "labels that are one-hot, bool, floats" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    for g, l in ('h', np.eye(3, dtype='u1')[[0, 2]]), ('b', np.array([True, False])), ('f', np.array([1, 2], 'f4')):
        f.create_dataset(g + '/images', data=np.zeros((2, 16, 20, 3), 'u1'), maxshape=(None, 16, 20, 3))
        f.create_dataset(g + '/labels', data=l, maxshape=(None,) + l.shape[1:])
PY
	picture a.png RGB 20x16 1
	h5fs_mount d.h5
	cp a.png "$MNT/h/images.by-class/2/"
	cp a.png "$MNT/b/images.by-class/True/"
	cp a.png "$MNT/f/images.by-class/2/"
	assert_errno EINVAL mkdir "$MNT/h/images.by-class/3"
	h5fs_unmount
	assert_eq "$(values h/labels)" "[[1, 0, 0], [0, 0, 1], [0, 0, 1]]"
	assert_eq "$(values b/labels)" "[True, False, True]"
	assert_eq "$(values f/labels)" "[1.0, 2.0, 2.0]"
}

@test "a batch in a class folder; pictures along the last axis" {
	labelled
	py <<'PY'
with h5py.File('d.h5', 'a') as f:
    f.create_dataset('h/slices', data=np.zeros((16, 20, 30), 'u1'), maxshape=(16, 20, None), chunks=(16, 20, 1))
np.save('b.npy', np.arange(3 * 16 * 20 * 3).astype('u1').reshape(3, 16, 20, 3))
PY
	picture s.png L 20x16 5
	h5fs_mount d.h5
	assert_eq "$(ls "$MNT/h/slices" | wc -l)" 30
	cp b.npy "$MNT/train/images.by-class/bird/"
	cp s.png "$MNT/h/slices/"
	commit
	cp "$MNT/h/slices/000030.png" seen.png
	h5fs_unmount
	assert_eq "$(values train/labels)" "[0, 1, 2, 0, 2, 2, 2]"
	py <<'PY'
from PIL import Image
f = h5py.File('d.h5')
assert (f['train/images'][4:] == np.load('b.npy')).all()
assert f['h/slices'].shape == (16, 20, 31)
assert (f['h/slices'][:, :, 30] == np.array(Image.open('s.png'))).all()
PY
}

@test "view=classes: folders stay what they are when classes come between them" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    f.create_dataset('g/images', data=np.zeros((2, 16, 20, 3), 'u1'), maxshape=(None, 16, 20, 3))
    f.create_dataset('g/labels', data=np.array(['dog', 'fox'], dtype=h5py.string_dtype()), maxshape=(None,))
PY
	for i in 1 2 3 4; do picture $i.png RGB 20x16 $i; done
	h5fs_mount d.h5 view=classes
	ls "$MNT/g/dog" "$MNT/g/fox"
	mkdir "$MNT/g/cat"
	ls_is "$MNT/g" cat dog fox
	cp 1.png "$MNT/g/cat/"
	cp 2.png "$MNT/g/fox/"
	commit
	cp 3.png "$MNT/g/dog/"
	cp 4.png "$MNT/g/fox/"
	commit
	ls_is "$MNT/g/dog" 000000.png 000004.png
	ls_is "$MNT/g/cat" 000002.png
	ls_is "$MNT/g/fox" 000001.png 000003.png 000005.png
	h5fs_unmount
	assert_eq "$(values g/labels)" "['dog', 'fox', 'cat', 'fox', 'dog', 'fox']"
	for i in 1 2 3 4; do same $i.png g/images $((i + 1)); done
}

# ---- masks ----

@test "an image and its mask are one row" {
	pairs
	picture s.png RGB 20x16 1
	picture m.png P 20x16 2
	h5fs_mount d.h5
	cp m.png "$MNT/masks/s.png"
	assert_xattr "$MNT/masks/s.png" user.h5fs.staged images
	cp s.png "$MNT/images/s.png"
	h5fs_unmount
	same s.png images 2
	same m.png masks 2
}

@test "one stem in two classes: the mask says which" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    f.create_dataset('images', data=np.zeros((2, 16, 20, 3), 'u1'), maxshape=(None, 16, 20, 3))
    f.create_dataset('masks', data=np.zeros((2, 16, 20), 'u1'), maxshape=(None, 16, 20))
    f.create_dataset('labels', data=np.arange(2), maxshape=(None,))
PY
	picture a.png RGB 20x16 1
	picture b.png RGB 20x16 2
	picture m.png P 20x16 3
	h5fs_mount d.h5
	cp a.png "$MNT/images.by-class/0/s.png"
	cp b.png "$MNT/images.by-class/1/s.png"
	refute cp m.png "$MNT/masks/s.png"
	assert_match "$(errors)" "*masks.by-class*"
	cp m.png "$MNT/masks.by-class/1/s.png"
	commit
	assert_match "$("$H5FS" status "$MNT")" "*masks*"
	h5fs_unmount
	same b.png images 2
	same m.png masks 2
	assert_eq "$(values labels)" "[0, 1, 1]"
}

# ---- names ----

@test "a member of names is filled, and rows answer to them at the next mount" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    f.create_dataset('v/images', data=np.zeros((2, 16, 20, 3), 'u1'), maxshape=(None, 16, 20, 3))
    f.create_dataset('v/filenames', data=np.array(['x.png', 'y.png'], dtype=h5py.string_dtype()), maxshape=(None,))
    f.create_dataset('s/images', data=np.zeros((2, 16, 20, 3), 'u1'), maxshape=(None, 16, 20, 3))
    f.create_dataset('s/name', data=np.array([b'one', b'two'], 'S6'), maxshape=(None,))
PY
	picture a.png RGB 20x16 1
	h5fs_mount d.h5
	cp a.png "$MNT/v/images/new one.png"
	cp a.png "$MNT/s/images/three.png"
	refute cp a.png "$MNT/s/images/thirteen.png"
	assert_match "$(errors)" "*longer*"
	h5fs_unmount
	assert_eq "$(values v/filenames)" "['x.png', 'y.png', 'new one.png']"
	assert_eq "$(values s/name)" "['one', 'two', 'three']"
	h5fs_mount d.h5
	cmp "$MNT/v/images/new one.png" "$MNT/v/images/000002.png"
	assert_errno EPERM open_write "$MNT/v/images/x.png"
	cp -n a.png "$MNT/v/images/y.png"
	h5fs_unmount
	assert_eq "$(values v/filenames)" "['x.png', 'y.png', 'new one.png']"
}

@test "rows of one name in two classes; names found after each commit" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    f.create_dataset('images', data=np.zeros((2, 16, 20, 3), 'u1'), maxshape=(None, 16, 20, 3))
    f.create_dataset('labels', data=np.arange(2), maxshape=(None,))
    f.create_dataset('names', data=np.array(['b.png', 'b.png'], dtype=h5py.string_dtype()), maxshape=(None,))
PY
	picture a.png RGB 20x16 1
	h5fs_mount d.h5
	cmp "$MNT/images.by-class/1/b.png" "$MNT/images.by-class/1/000001.png"
	assert_errno EPERM open_write "$MNT/images.by-class/0/b.png"
	for i in 1 2 3 4 5 6; do
		cp a.png "$MNT/images.by-class/$((i % 2))/a$((i / 2)).png"
		commit
		for k in $(seq 1 $i); do
			assert_eq "$(stat -c %i "$MNT/images.by-class/$((k % 2))/a$((k / 2)).png")" \
				"$(stat -c %i "$MNT/images/$(printf %06d $((k + 1))).png")"
		done
	done
	h5fs_unmount
	assert_eq "$(values names)" "['b.png', 'b.png', 'a0.png', 'a1.png', 'a1.png', 'a2.png', 'a2.png', 'a3.png']"
	h5fs_mount d.h5 ro
	cmp "$MNT/images.by-class/0/a1.png" "$MNT/images/000003.png"
	assert_errno ENOENT stat "$MNT/images.by-class/0/a0.png"
	h5fs_unmount
}

@test "names that are held back get their verdict when they are renamed" {
	stack
	picture a.png L 20x16 1
	echo no picture >text.png
	h5fs_mount d.h5
	cp a.png "$MNT/images/.a.png.Xy12"
	cp a.png "$MNT/images/b.png.part"
	cp text.png "$MNT/images/c.png~"
	cmp a.png "$MNT/images/b.png.part"
	commit
	mv "$MNT/images/.a.png.Xy12" "$MNT/images/a.png"
	mv "$MNT/images/b.png.part" "$MNT/images/b.png"
	refute mv "$MNT/images/c.png~" "$MNT/images/c.png"
	cmp text.png "$MNT/images/c.png~"
	h5fs_unmount
	same a.png images 3
	same a.png images 4
	assert_eq "$("$PYTHON" -c 'import h5py; print(h5py.File("d.h5")["images"].shape[0])')" 5
}

# ---- .npy ----

@test "rows and batches of .npy, and a member beside a batch" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    f.create_dataset('x', data=np.zeros((2, 5, 4, 3), 'f4'), maxshape=(None, 5, 4, 3))
    f.create_dataset('y', data=np.zeros(2, 'i8'), maxshape=(None,))
    f['x'].attrs['h5fs.layout'] = 'none'
rng = np.random.default_rng(1)
np.save('one.npy', rng.random((5, 4, 3)).astype('f4'))
np.save('many.npy', rng.random((7, 5, 4, 3)).astype('f4'))
np.save('many.y.npy', np.arange(7) + 10)
np.save('wrong.npy', rng.random((5, 4)).astype('f4'))
np.save('loss.npy', np.full((5, 4, 3), 1e300))
PY
	h5fs_mount d.h5
	cp one.npy "$MNT/x/"
	setfattr -n user.y -v 42 "$MNT/x/one.npy"
	cp many.npy many.y.npy "$MNT/x/"
	refute cp wrong.npy "$MNT/x/"
	refute cp loss.npy "$MNT/x/"
	cp "$MNT/x/many.npy" back.npy
	h5fs_unmount
	py <<'PY'
f = h5py.File('d.h5')
assert f['x'].shape[0] == f['y'].shape[0] == 10, (f['x'].shape, f['y'].shape)
assert (f['x'][2] == np.load('one.npy')).all() and f['y'][2] == 42
assert (f['x'][3:] == np.load('many.npy')).all()
assert f['y'][3:].tolist() == list(range(10, 17))
assert (np.load('back.npy') == np.load('many.npy')).all()
PY
}

@test "encoded sets take their own format, byte for byte" {
	py <<'PY'
import io
from PIL import Image
def jpg(i):
    b = io.BytesIO()
    Image.fromarray(np.full((16, 20, 3), i * 30, 'u1')).save(b, 'JPEG')
    return np.frombuffer(b.getvalue(), 'u1')
with h5py.File('d.h5', 'w') as f:
    d = f.create_dataset('photos', (3,), h5py.vlen_dtype('u1'), maxshape=(None,))
    for i in range(3):
        d[i] = jpg(i)
PY
	picture a.jpg RGB 33x21 1 quality=90
	picture a.png RGB 33x21 1
	h5fs_mount d.h5
	cp a.jpg "$MNT/photos/"
	refute cp a.png "$MNT/photos/"
	cmp a.jpg "$MNT/photos/a.jpg"
	commit
	cmp a.jpg "$MNT/photos/000003.jpg"
	h5fs_unmount
	py <<'PY'
assert h5py.File('d.h5')['photos'][3].tobytes() == open('a.jpg', 'rb').read()
PY
}

# ---- what belongs together ----

@test "a dataset of the same length in another group: rows= says what belongs together" {
	h5_make d.h5 images:u8:3x16x20:grow meta/age:i32:3:grow
	picture a.png L 20x16 1
	h5fs_mount d.h5
	assert_errno EOPNOTSUPP create "$MNT/images/a.png"
	assert_match "$(errors)" "*/meta/age*rows=/*"
	h5fs_unmount
	h5fs_mount d.h5 rows=/
	cp a.png "$MNT/images/"
	setfattr -n user.age -v 33 "$MNT/images/a.png"
	h5fs_unmount
	same a.png images 3
	assert_match "$(values meta/age)" "*, 33]"
}

@test "rows= of the group beside it says that it stands alone" {
	h5_make d.h5 images:u8:3x16x20:grow meta/age:i32:3:grow
	picture a.png L 20x16 1
	h5fs_mount d.h5 rows=/meta
	cp a.png "$MNT/images/"
	h5fs_unmount
	same a.png images 3
	assert_eq "$("$PYTHON" -c 'import h5py; print(h5py.File("d.h5")["meta/age"].shape[0])')" 3
}

@test "train and test stand side by side" {
	h5_make d.h5 train_x:u8:3x16x20:grow train_y:i32:3:mod=2:grow test_x:u8:3x16x20:grow test_y:i32:3:mod=2:grow
	picture a.png L 20x16 1
	h5fs_mount d.h5
	cp a.png "$MNT/test_x.by-class/1/"
	h5fs_unmount
	same a.png test_x 3
	assert_eq "$(values train_y)" "[0, 1, 0]"
	assert_eq "$(values test_y)" "[0, 1, 0, 1]"
}

# ---- -o edit ----

@test "-o edit: a picture saved over a sample, and over its name" {
	labelled
	picture a.png RGB 20x16 1
	picture b.png RGB 20x16 2
	picture wrong.png RGB 21x16 2
	h5fs_mount d.h5 edit
	cp a.png "$MNT/train/images/000001.png"
	cmp -n 8 "$MNT/train/images/000001.png" a.png
	refute cp wrong.png "$MNT/train/images/000002.png"
	cp b.png "$MNT/train/images.by-class/cat/new.png"
	commit
	cp a.png "$MNT/train/images.by-class/cat/new.png"
	cp b.png "$MNT/train/images/.000003.png.tmp"
	mv -f "$MNT/train/images/.000003.png.tmp" "$MNT/train/images/000003.png"
	h5fs_unmount
	same a.png train/images 1
	same a.png train/images 4
	same b.png train/images 3
	assert_eq "$(values train/labels)" "[0, 1, 2, 0, 0]"
}

@test "-o edit: values whose pixels stay are kept" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    f.create_dataset('images', data=np.linspace(0, 1, 3 * 16 * 20, dtype='f4').reshape(3, 16, 20), maxshape=(None, 16, 20))
PY
	h5fs_mount d.h5 edit
	cp "$MNT/images/000001.png" same.png
	py <<'PY'
from PIL import Image
a = np.array(Image.open('same.png'))
a[3, 4] = 255
Image.fromarray(a).save('edited.png')
PY
	cp edited.png "$MNT/images/000001.png"
	h5fs_unmount
	py <<'PY'
have = h5py.File('d.h5')['images'][:]
want = np.linspace(0, 1, 3 * 16 * 20, dtype='f4').reshape(3, 16, 20)
want[1, 3, 4] = 1
assert (have == want).all()
PY
}

@test "-o edit: mv between class folders changes the label" {
	labelled
	h5fs_mount d.h5 edit
	mv "$MNT/train/images.by-class/dog/000001.png" "$MNT/train/images.by-class/bird/"
	ls_is "$MNT/train/images.by-class/bird" 000001.png 000002.png
	ls_is "$MNT/train/images.by-class/dog"
	assert_errno EPERM rename "$MNT/train/images.by-class/cat/000000.png" "$MNT/train/images.by-class/dog/x.png"
	h5fs_unmount
	assert_eq "$(values train/labels)" "[0, 2, 2, 0]"
	h5fs_mount d.h5
	refute mv "$MNT/train/images.by-class/cat/000000.png" "$MNT/train/images.by-class/dog/"
	h5fs_unmount
	assert_eq "$(values train/labels)" "[0, 2, 2, 0]"
}

@test "-o edit: mogrify saves in place" {
	command -v mogrify >/dev/null || skip "needs ImageMagick"
	h5_make d.h5 images:u8:3x16x20x3:grow
	h5fs_mount d.h5 edit
	mogrify -negate "$MNT/images/000001.png"
	h5fs_unmount
	py <<'PY'
f = h5py.File('d.h5')['images']
v = (np.arange(3 * 16 * 20 * 3, dtype='u8') * np.uint64(2654435761) >> np.uint64(9)) & np.uint64(0xffff)
v = v.astype('u1').reshape(3, 16, 20, 3)
assert (f[0] == v[0]).all() and (f[2] == v[2]).all()
assert (f[1] == 255 - v[1]).all()
PY
}

# ---- one mount, many hands ----

@test "many writers at once lose nothing" {
	stack
	mkdir in
	for i in $(seq 1 40); do picture in/$i.png L 20x16 "$i"; done
	h5fs_mount d.h5
	ls in/*.png | xargs -n 1 -P 8 -I {} cp {} "$MNT/images/"
	commit
	h5fs_unmount
	py <<'PY'
from PIL import Image
f = h5py.File('d.h5')['images']
assert f.shape[0] == 43
have = sorted(f[i].tobytes() for i in range(3, 43))
want = sorted(np.array(Image.open('in/%d.png' % i)).tobytes() for i in range(1, 41))
assert have == want
PY
}

@test "a listing while names come and go misses none that stays" {
	stack
	picture a.png L 20x16 1
	h5fs_mount d.h5 commit=manual
	for i in $(seq 1 300); do cp a.png "$MNT/images/n$i.png"; done
	assert_eq "$(ls "$MNT/images" | wc -l)" 303
	assert_eq "$(ls -l "$MNT/images" | grep -c png)" 303
	rm "$MNT/images"/n1*.png
	assert_eq "$(find "$MNT/images" -name 'n*' | wc -l)" 189
	h5fs_unmount
}

@test "it is held while somebody has it open" {
	stack
	picture a.png L 20x16 1
	h5fs_mount d.h5
	cp a.png "$MNT/images/"
	exec 7<"$MNT/images/a.png"
	commit || true
	ls_is "$MNT/images" 000000.png 000001.png 000002.png a.png
	cat <&7 >seen.png
	exec 7<&-
	cmp seen.png "$MNT/images/a.png"
	commit
	cmp seen.png "$MNT/images/000003.png"
	h5fs_unmount
}
