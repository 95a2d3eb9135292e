#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The PNGs: every bit depth and channel count, for every reader.
load ../lib/mount

# Grey, grey+alpha does not arise, RGB, RGBA; 1, 8 and 16 bits.
make_pictures()
{
	h5_make d.h5 grey:u8:2x17x33:@CLASS='"IMAGE"' images/rgb:u8:2x17x33x3 images/rgba:u8:2x17x33x4 \
		images/grey16:u16:2x17x33 images/rgb16:u16:2x17x33x3 images/mask:bool:2x17x33 \
		images/one:u8:2x16x16x1 images/odd:u8:1x300x301x3 images/wide:u8:2x24x70000
}

@test "pixels are the stored values, by our own reading of the specification" {
	make_pictures
	h5fs_mount d.h5
	n=0
	for d in images/rgb images/rgba images/grey16 images/rgb16 images/mask images/one images/odd; do
		for f in "$MNT/$d"/*.png; do
			assert_same_pixels "$f" d.h5 "$d" "$((10#$(basename "$f" .png)))"
			n=$((n + 1))
		done
	done
	assert_eq "$n" 13
}

@test "bit depth and colour type follow from the dataset" {
	make_pictures
	h5fs_mount d.h5
	kind() { file -b "$MNT/images/$1/000000.png"; }
	assert_match "$(kind rgb)" '*33 x 17, 8-bit/color RGB,*'
	assert_match "$(kind rgba)" '*33 x 17, 8-bit/color RGBA,*'
	assert_match "$(kind grey16)" '*33 x 17, 16-bit grayscale,*'
	assert_match "$(kind rgb16)" '*33 x 17, 16-bit/color RGB,*'
	assert_match "$(kind mask)" '*33 x 17, 1-bit grayscale,*'
	assert_match "$(kind one)" '*16 x 16, 8-bit grayscale,*'
}

@test "pngcheck accepts them" {
	make_pictures
	h5fs_mount d.h5
	mapfile -t files < <(find "$MNT" -name '*.png')
	[ "${#files[@]}" -ge 13 ]
	pngcheck -q "${files[@]}"
}

@test "libpng accepts them" {
	make_pictures
	h5fs_mount d.h5
	find "$MNT" -name '*.png' | while read -r f; do
		pngtopnm "$f" >out.pnm 2>err || { echo "$f"; cat err; exit 1; }
		[ ! -s err ] || { echo "$f"; cat err; exit 1; }
	done
	pngtopnm "$MNT/images/rgb/000001.png" | tail -c $((17 * 33 * 3)) >have
	py <<'PY'
with h5py.File('d.h5', 'r', locking=False) as f:
    assert open('have', 'rb').read() == f['images/rgb'][1].tobytes()
PY
}

@test "Pillow and OpenCV decode them to the stored values" {
	make_pictures
	h5fs_mount d.h5
	py <<'PY'
import cv2
from PIL import Image
with h5py.File('d.h5', 'r', locking=False) as f:
    for n in ('rgb', 'rgba', 'grey16', 'mask', 'one', 'odd'):
        d = f['images/' + n]
        for i in range(len(d)):
            p = '%s/images/%s/%06d.png' % (MNT, n, i)
            np.testing.assert_array_equal(np.asarray(Image.open(p)).reshape(d[i].shape), d[i], p)
    for n in ('rgb', 'rgba', 'grey16', 'rgb16', 'one', 'odd'):
        d = f['images/' + n]
        for i in range(len(d)):
            p = '%s/images/%s/%06d.png' % (MNT, n, i)
            a = cv2.imread(p, cv2.IMREAD_UNCHANGED)
            if a.ndim == 3:
                a = a[..., [2, 1, 0, 3][:a.shape[2]]]
            np.testing.assert_array_equal(a.reshape(d[i].shape), d[i], p)
PY
}

@test "a palette makes a palette picture" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    p = f.create_dataset('palette', data=np.arange(30, dtype='u1').reshape(10, 3))
    p.attrs['CLASS'] = np.bytes_('PALETTE')
    d = f.create_dataset('picture', data=(np.arange(20 * 30) % 10).reshape(20, 30).astype('u1'))
    d.attrs['CLASS'] = np.bytes_('IMAGE')
    d.attrs['IMAGE_SUBCLASS'] = np.bytes_('IMAGE_INDEXED')
    d.attrs['PALETTE'] = p.ref
PY
	h5fs_mount d.h5
	assert_match "$(file -b "$MNT/picture.png")" '*8-bit colormap*'
	pngcheck -q "$MNT/picture.png"
	py <<'PY'
from PIL import Image
im = Image.open(MNT + '/picture.png')
i = np.arange(600).reshape(20, 30) % 10
np.testing.assert_array_equal(np.asarray(im), i)
np.testing.assert_array_equal(np.asarray(im.convert('RGB')), np.arange(30).reshape(10, 3)[i])
PY
}

@test "any part of a PNG can be read, in any order" {
	h5_make d.h5 images:u8:1x300x301x3
	h5fs_mount d.h5
	py <<'PY'
import random
p = MNT + '/images/000000.png'
whole = open(p, 'rb').read()
rng = random.Random(1)
fd = os.open(p, os.O_RDONLY)
for _ in range(300):
    o, n = rng.randrange(len(whole) + 10), rng.randrange(1, 40000)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    assert os.pread(fd, n, o) == whole[o:o + n], (o, n)
PY
}
