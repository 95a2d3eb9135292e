#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Bad input: files, chunks, filters.
load ../lib/mount

# refuses FILE PATTERN - exit 1 and one line
refuses()
{
	run timeout 30 "$H5FS" "$1" "$MNT" 3>&-
	assert_eq "$status" 1 "exit status ($output)"
	assert_eq "${#lines[@]}" 1 "lines"
	assert_match "${output,,}" "$2"
	not_mounted "$MNT"
}

@test "what is not HDF5 is told what it is" {
	refuses "$LAYOUTS/NEG_html.h5" '*html*'
	refuses "$LAYOUTS/NEG_empty_file.h5" '*empty*'
	refuses "$LAYOUTS/NEG_mat_v5.mat" '*matlab*5*'
	refuses "$LAYOUTS/NEG_pcam_x.h5.gz" '*gzip*'
	refuses "$LAYOUTS/NEG_truncated.h5" '*truncated*'
	refuses nothing.h5 '*no such file*'
	refuses . '*'
}

@test "a truncated file: both sizes are told" {
	h5_make d.h5 images:u8:40x64x64x3
	truncate -s 100000 d.h5
	refuses d.h5 '*100000*'
	assert_match "$output" "*49????*"
}

@test "a mount point that is none" {
	h5_make d.h5 x:u8:3
	run "$H5FS" d.h5 "$TMP/none/there" 3>&-
	assert_eq "$status" 1
	assert_match "$output" '*none/there*'
	touch file
	run "$H5FS" d.h5 file 3>&-
	assert_eq "$status" 1
}

@test "a missing filter: listed, EIO, told once with its number; the rest goes on" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    dcpl.set_chunk((1, 16, 16, 3))
    dcpl.set_filter(32123, 1, (1, 2))
    d = h5py.h5d.create(f.id, b'images', h5py.h5t.NATIVE_UINT8, h5py.h5s.create_simple((3, 16, 16, 3)), dcpl)
    for i in range(3):
        d.write_direct_chunk((i, 0, 0, 0), b'\1' * 768, 0)
    f['good'] = np.arange(5)
PY
	h5fs_mount d.h5
	ls_is "$MNT/images" 000000.png 000001.png 000002.png
	assert_errno EIO read "$MNT/images/000001.png"
	assert_errno EIO read "$MNT/images/000001.png"
	assert_errno EIO read "$MNT/images.npy"
	py <<'PY'
assert np.load(MNT + '/good.npy').tolist() == [0, 1, 2, 3, 4]
PY
	wait_for grep -q . "$MNT/.h5fs/errors"
	errors=$(cat "$MNT/.h5fs/errors")
	assert_match "$errors" '*/images*32123*'
	assert_eq "$(grep -c 000001 "$MNT/.h5fs/errors" || true)" "$(grep 000001 "$MNT/.h5fs/errors" | sort -u | wc -l)"
}

@test "a damaged chunk: EIO there, its neighbours are whole, the chunk is named" {
	h5_make d.h5 images:u8:4x32x32x3:gzip:chunk=1x32x32x3
	py <<'PY'
with h5py.File('d.h5', 'r') as f:
    c = f['images'].id.get_chunk_info(2)
with open('d.h5', 'rb+') as f:
    f.seek(c.byte_offset)
    f.write(b'\xff' * min(64, c.size))
PY
	h5fs_mount d.h5
	assert_errno EIO read "$MNT/images/000002.png"
	for i in 0 1 3; do
		assert_same_pixels "$MNT/images/00000$i.png" d.h5 images $i
	done
	wait_for grep -q . "$MNT/.h5fs/errors"
	assert_match "$(cat "$MNT/.h5fs/errors")" '*/images*2*'
}

@test "a checksum that does not hold is EIO and never a wrong pixel" {
	h5_make d.h5 images:u8:4x32x32x3:fletcher32:chunk=1x32x32x3
	py <<'PY'
with h5py.File('d.h5', 'r') as f:
    c = f['images'].id.get_chunk_info(1)
with open('d.h5', 'rb+') as f:
    f.seek(c.byte_offset + 100)
    b = f.read(1)
    f.seek(c.byte_offset + 100)
    f.write(bytes([b[0] ^ 1]))
PY
	h5fs_mount d.h5
	assert_errno EIO read "$MNT/images/000001.png"
	assert_same_pixels "$MNT/images/000002.png" d.h5 images 2
}

@test "a hundred files with bytes changed at random: answers or errors, never a crash" {
	h5_make d.h5 a/images:u8:6x16x16x3:gzip:chunk=2x16x16x3 a/labels:i32:6:mod=3 t:f64:5x3:@x=1 \
		c:f32:7x8x9:lzf:shuffle
	py <<'PY'
import random
good = open('d.h5', 'rb').read()
for k in range(100):
    rng = random.Random(k)
    b = bytearray(good)
    for _ in range(rng.choice((1, 4, 30))):
        b[rng.randrange(len(b))] = rng.randrange(256)
    open('bad%03d.h5' % k, 'wb').write(b)
PY
	n=0
	for f in bad*.h5; do
		status=0
		timeout 30 "$H5FS" info "$f" >/dev/null 2>err || status=$?
		[ "$status" -le 1 ] || { echo "$f: exit $status"; cat err; false; }
		refute grep -E 'Sanitizer|runtime error' err
		rm -rf out
		status=0
		timeout 30 "$H5FS" export "$f" out >/dev/null 2>err || status=$?
		[ "$status" -le 1 ] || { echo "$f: exit $status"; cat err; false; }
		refute grep -E 'Sanitizer|runtime error' err
		n=$((n + 1))
	done
	assert_eq "$n" 100
}

@test "sizes beyond all reason are told, not allocated" {
	h5_make d.h5 a:f64:4000000000x4000000000:sparse:chunk=100x100 images:u8:2000000000x100x100x3:sparse:chunk=1x100x100x3 \
		big:u8:3x70000x70000x3:sparse:chunk=1x100x100x3
	h5fs_mount d.h5
	ls -l "$MNT" >/dev/null
	stat "$MNT/images/1999999999.png" >/dev/null
	py <<'PY'
p = MNT + '/a[5:7,3:9].npy'
assert not np.load(p).any() and np.load(p).shape == (2, 6)
PY
	[ "$(awk '/^VmRSS/ { print $2 }' "/proc/$(daemon_pid)/status")" -lt 600000 ]
}
