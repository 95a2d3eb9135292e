#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# D.npy, D[SLICES].npy, D.nrrd: values at random.
load ../lib/mount

# compare FILE - every dataset that has a .npy, row by row through mmap
compare()
{
	py "$1" <<'PY'
n = 0
def one(name, d):
    global n
    p = '%s/%s.npy' % (MNT, name)
    if not isinstance(d, h5py.Dataset) or not os.path.exists(p):
        return
    a = np.load(p, mmap_mode='r')
    try:
        rows = [d[i] for i in range(min(len(d), 10))] if d.ndim else [d[()]]
    except TypeError:                   # bit fields: h5py has no type for them
        return
    for i, row in enumerate(rows):
        np.testing.assert_array_equal(a[i] if d.ndim else a, row, '%s[%d]' % (name, i))
    assert a.dtype.newbyteorder('<') == np.asarray(rows[0]).dtype.newbyteorder('<') or d.dtype.subdtype, name
    n += 1
with h5py.File(sys.argv[1], 'r', locking=False) as f:
    f.visititems(one)
print(n, 'datasets')
assert n >= 10
PY
}

@test "np.load(mmap_mode='r')[i] is h5py's d[i] for every type" {
	h5fs_mount "$LAYOUTS/types_images.h5"
	compare "$LAYOUTS/types_images.h5"
}

@test "and through every filter, chunk shape and storage" {
	h5_make d.h5 a:f32:50x7x9:gzip:shuffle:chunk=8x3x4 b:i16:50x7x9:lzf:chunk=7x7x9 \
		c:f64:50x7x9:gzip:fletcher32:shuffle:chunk=50x1x1 d:u8:50x7x9:fletcher32 \
		e:i64:50x7x9 f:u32:50x7x9:gzip=9:chunk=1x7x9 g:f16:50x7x9:shuffle:lzf \
		h:u16:50:gzip:chunk=16 i:bool:50x7x9:gzip j:f32:0x3:grow k:f64:- l:u8:50x70:sparse:gzip
	h5fs_mount d.h5
	py <<'PY'
with h5py.File('d.h5', 'r', locking=False) as f:
    assert len(f) == 12
    for n in f:
        a = np.load('%s/%s.npy' % (MNT, n), mmap_mode='r' if f[n].size else None)
        np.testing.assert_array_equal(a, f[n][()], n)
        assert a.dtype == f[n].dtype and a.shape == f[n].shape
PY
}

@test "one row of 10 GB touches only its chunks" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    d = f.create_dataset('scans', (40000, 512, 512), 'u1', chunks=(1, 512, 512), compression='gzip')
    d[20000:20008] = np.random.default_rng(1).integers(0, 256, (8, 512, 512), 'u1')
PY
	h5fs_mount d.h5
	assert_eq "$(stat -c %s "$MNT/scans.npy")" $((40000 * 512 * 512 + 128))
	before=$(metric_settled h5fs_bytes_read_total)
	chunks=$(metric_settled h5fs_chunks_decoded_total)
	py <<'PY'
a = np.load(MNT + '/scans.npy', mmap_mode='r')
with h5py.File('d.h5', 'r', locking=False) as f:
    np.testing.assert_array_equal(a[20003], f['scans'][20003])
assert not a[5].any() and not a[39999].any()
PY
	bytes=$(($(metric_settled h5fs_bytes_read_total) - before))
	chunks=$(($(metric_settled h5fs_chunks_decoded_total) - chunks))
	echo "$bytes bytes, $chunks chunks"
	[ "$bytes" -gt 0 ]
	[ "$bytes" -le $((5 * 270000)) ]
	[ "$chunks" -ge 1 ]
	[ "$chunks" -le 5 ]
	assert_eq "$(metric h5fs_library_reads_total)" 0
}

@test "what was decoded is found in the cache, once however many ask" {
	cats=()
	h5_make d.h5 images:u8:64x32x32x3:gzip:chunk=64x32x32x3
	h5fs_mount d.h5
	for i in 0 1 2 3 4 5; do
		cat "$MNT/images/00000$i.png" >/dev/null &
		cats+=($!)
	done
	wait "${cats[@]}"
	cat "$MNT/images/"*.png >/dev/null
	assert_eq "$(metric_settled h5fs_chunks_decoded_total)" 1
	[ "$(metric h5fs_cache_hits_total)" -gt 0 ]
	[ "$(metric h5fs_cache_misses_total)" -gt 0 ]
}

@test "D[SLICES].npy is NumPy's basic slicing" {
	h5_make d.h5 volume:f32:12x10x8:gzip:chunk=5x4x3 line:i32:20
	h5fs_mount d.h5
	py <<'PY'
with h5py.File('d.h5', 'r', locking=False) as f:
    for name, texts in {
        'volume': ('0', '-1', '2:5', '::2', '::-1', '2:9:3,::-2,1', '...,0', '1,...', '...', '3,4,5', '-3:-1,:,::3',
                   '5:2', '100:200', ':,:,:', '10:5:-2', '-100:3'),
        'line': ('3', '::7', '-5:', ':'),
    }.items():
        d = f[name][...]
        for t in texts:
            p = '%s/%s[%s].npy' % (MNT, name, t)
            a, want = np.load(p), eval('d[%s]' % t)
            assert a.shape == np.shape(want) and a.dtype == d.dtype, (t, a.shape)
            np.testing.assert_array_equal(a, want, t)
            assert os.stat(p).st_size == os.path.getsize(p) == len(open(p, 'rb').read())
PY
	for t in 12 -13 0,0,0,0 a '' 1.5 None 1::0 '0:1:1:1' '0 1' '...,...'; do
		assert_errno ENOENT stat "$MNT/volume[$t].npy"
	done
	assert_eq "$(ls "$MNT" | grep -c '\[')" 0
}

@test "a slice reads its chunks and no others" {
	h5_make d.h5 volume:u16:640x64x64:gzip:chunk=8x64x64
	h5fs_mount d.h5
	before=$(metric_settled h5fs_chunks_decoded_total)
	cat "$MNT/volume[409:415,:,::2].npy" >/dev/null
	assert_eq "$(($(metric_settled h5fs_chunks_decoded_total) - before))" 1
}

@test "D.nrrd holds the values, their order and their spacing" {
	h5_make d.h5 'scan_volume:i16:6x20x24:gzip:@spacing=[2.5,0.5,0.75]' \
		four:f32:2x3x4x5 flat:f32:3x4
	h5fs_mount d.h5
	assert_errno ENOENT stat "$MNT/flat.nrrd"
	py <<'PY'
def nrrd(path):
    head, data = open(path, 'rb').read().split(b'\n\n', 1)
    lines = head.decode().split('\n')
    assert lines[0].startswith('NRRD000'), lines
    return dict(x.split(': ', 1) for x in lines[1:] if ': ' in x and not x.startswith('#')), data
with h5py.File('d.h5', 'r', locking=False) as f:
    h, data = nrrd(MNT + '/scan_volume.nrrd')
    assert h['dimension'] == '3' and h['sizes'].split() == ['24', '20', '6'], h
    assert h['type'] in ('short', 'int16', 'int16_t', 'signed short') and h['encoding'] == 'raw', h
    assert h['endian'] == 'little'
    assert data == f['scan_volume'][...].tobytes()
    said = h.get('spacings', '') + h.get('space directions', '')
    for x in ('2.5', '0.5', '0.75'):
        assert x in said, h
    h, data = nrrd(MNT + '/four.nrrd')
    assert h['sizes'].split() == ['5', '4', '3', '2'] and data == f['four'][...].tobytes()
assert os.stat(MNT + '/four.nrrd').st_size == len(open(MNT + '/four.nrrd', 'rb').read())
PY
}
