#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Class folders: D.by-class and view=classes.
load ../lib/mount

make_cats()
{
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    for part, n in ('train', 8), ('val', 4):
        g = f.create_group(part)
        g['images'] = np.arange(n * 16 * 16 * 3).astype('u1').reshape(n, 16, 16, 3)
        g['labels'] = np.arange(n, dtype='i4') % 2 * 2      # no sample has label 1
        g.attrs['label_names'] = ['cat', 'dog', 'bird']
PY
}

@test "by-class holds the same files, hard-linked by label" {
	make_cats
	h5fs_mount d.h5
	ls_is "$MNT/train/images.by-class" cat dog bird
	ls_is "$MNT/train/images.by-class/bird" 000001.png 000003.png 000005.png 000007.png
	a=$MNT/train/images/000003.png b=$MNT/train/images.by-class/bird/000003.png
	assert_eq "$(stat -c '%i %h %s' "$a")" "$(stat -c '%i %h %s' "$b")"
	assert_eq "$(stat -c %h "$a")" 2
	cmp "$a" "$b"
	assert_errno ENOENT stat "$MNT/train/images.by-class/cat/000003.png"
	assert_errno ENOENT stat "$MNT/train/images.by-class/fish"
}

@test "a declared class without a sample is listed, so that train and val agree" {
	make_cats
	h5fs_mount d.h5
	ls_is "$MNT/val/images.by-class" cat dog bird
	ls_is "$MNT/val/images.by-class/dog"
}

@test "by-class is not listed" {
	make_cats
	h5fs_mount d.h5
	ls_is "$MNT/train" images images.npy labels.npy labels.txt
	assert_eq "$(find "$MNT" -name '*.png' | wc -l)" 12
}

@test "classes=numbers and classes=both" {
	make_cats
	h5fs_mount d.h5 classes=numbers
	ls_is "$MNT/train/images.by-class" 0 1 2
	h5fs_unmount
	h5fs_mount d.h5 classes=both
	ls_is "$MNT/train/images.by-class" 0_cat 1_dog 2_bird
}

@test "numbers are padded to the widest, so that sorted order is label order" {
	h5_make d.h5 images:u8:12x16x16x3 labels:i32:12:mod=12
	h5fs_mount d.h5
	ls_is "$MNT/images.by-class" 00 01 02 03 04 05 06 07 08 09 10 11
}

@test "strings, one-hot and a negative label" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    x = np.zeros((3, 16, 16, 3), 'u1')
    for g in 'abc':
        f[g + '/images'] = x
    f['a/labels'] = np.array(['dog', 'a/b', 'dog'], dtype=h5py.string_dtype())
    f['b/labels'] = np.eye(4, dtype='u1')[[3, 0, 3]]
    f['c/labels'] = np.array([-1, 5, 5], 'i8')
PY
	h5fs_mount d.h5
	ls_is "$MNT/a/images.by-class" dog a%2Fb
	ls_is "$MNT/b/images.by-class/3" 000000.png 000002.png
	ls_is "$MNT/c/images.by-class" -1 5
}

@test "two classes of one name become NAME.LABEL" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    f['images'] = np.zeros((3, 16, 16, 3), 'u1')
    f['labels'] = np.array([0, 1, 2])
    f['labels'].attrs['label_names'] = ['x', 'y', 'x']
PY
	h5fs_mount d.h5
	ls_is "$MNT/images.by-class" x.0 y x.2
}

@test "labels that are none make no class folders" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    for g in 'abc':
        f[g + '/images'] = np.zeros((4, 16, 16, 3), 'u1')
    f['a/labels'] = np.array([.5, .25, 1, 2])           # real numbers
    f['b/labels'] = np.ones((4, 3), 'u1')               # several at once
    f['c/labels'] = np.arange(3)                        # another length
PY
	h5fs_mount d.h5
	for g in a b c; do
		assert_errno ENOENT stat "$MNT/$g/images.by-class"
	done
}

@test "labels= says where labels are" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    f['images'] = np.zeros((4, 16, 16, 3), 'u1')
    f['meta/kind'] = np.array([0, 1, 1, 0])
with h5py.File('other.h5', 'w') as f:
    f['answers'] = np.array([2, 2, 3, 3])
PY
	h5fs_mount d.h5
	assert_errno ENOENT stat "$MNT/images.by-class"
	h5fs_unmount
	h5fs_mount d.h5 labels=/images:/meta/kind
	ls_is "$MNT/images.by-class/1" 000001.png 000002.png
	h5fs_unmount
	h5fs_mount d.h5 labels=/images:other.h5:/answers
	ls_is "$MNT/images.by-class" 2 3
}

@test "a group of single pictures with an attribute label" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    for i in range(4):
        d = f.create_dataset('photos/img_%d' % i, data=np.full((16, 16, 3), i, 'u1'))
        d.attrs['label'] = i % 2
PY
	h5fs_mount d.h5
	ls_is "$MNT/photos.by-class" 0 1
	ls_is "$MNT/photos.by-class/1" img_1.png img_3.png
	assert_eq "$(stat -c %i "$MNT/photos.by-class/1/img_3.png")" "$(stat -c %i "$MNT/photos/img_3.png")"
}

@test "view=classes shows only class folders, each group's directly" {
	make_cats
	h5fs_mount d.h5 view=classes
	ls_is "$MNT" train val
	ls_is "$MNT/train" cat dog bird
	ls_is "$MNT/train/cat" 000000.png 000002.png 000004.png 000006.png
	assert_same_pixels "$MNT/train/cat/000002.png" d.h5 train/images 2
	assert_eq "$(find "$MNT" -type f | wc -l)" 12
}

@test "view=classes: masks do not count, two sets are a folder each" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    x = np.zeros((4, 16, 16, 3), 'u1')
    f['one/images'], f['one/masks'] = x, np.zeros((4, 16, 16), 'u1')
    f['two/left_image'], f['two/right_image'] = x, x
    f['one/labels'] = f['two/labels'] = np.array([0, 1, 0, 1])
PY
	h5fs_mount d.h5 view=classes
	ls_is "$MNT/one" 0 1
	ls_is "$MNT/two" left_image right_image
	ls_is "$MNT/two/left_image" 0 1
}

@test "view=classes shows 16 bits in 8, by the dataset's range" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    x = np.zeros((2, 16, 16), 'u2')
    x[0, 0, 0], x[1] = 4000, 1000
    f['images'], f['labels'] = x, np.array([0, 1])
PY
	h5fs_mount d.h5 view=classes
	py <<'PY'
from png import decode
a, b = decode(MNT + '/0/000000.png'), decode(MNT + '/1/000001.png')
assert a.dtype == np.uint8 and a[0, 0, 0] == 255 and a[1, 1, 0] == 0, a[:2, :2]
assert (b == 64).all(), b[0, 0]
PY
}
