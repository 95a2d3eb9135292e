#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Compressed chunks of many samples: at random each sample costs its own part of
# one, in order the next is decoded meanwhile.
load ../lib/mount

# 10 chunks of 32 samples, each 96 KiB, in every pipeline that can be entered.
make_chunked()
{
	py <<'PY'
rng = np.random.default_rng(5)
y, x = np.mgrid[0:32, 0:32]
a = (rng.integers(0, 99, (320, 1, 1, 3)) + (y + 2 * x)[..., None] + rng.integers(0, 3, (320, 32, 32, 3))).astype('u1')
with h5py.File('d.h5', 'w') as f:
    for name, kw in (('plain', {}), ('shuffled', {'shuffle': True}), ('summed', {'fletcher32': True})):
        f.create_dataset(name, data=a, chunks=(32, 32, 32, 3), compression='gzip', compression_opts=4, **kw)
    f.create_dataset('deep', data=a.astype('u2') * 200, chunks=(32, 32, 32, 3), compression='gzip', shuffle=True)
PY
}

# read_samples NAME ROUNDS - each sample in a new order, as a picture and as a row
# of the array, compared with what h5py reads
read_samples()
{
	py "$@" <<'PY'
from png import decode
name, rounds = sys.argv[1], int(sys.argv[2])
with h5py.File('d.h5', 'r', locking=False) as f:
    want = f[name][...]
for r in range(rounds):
    a = np.load(f'{MNT}/{name}.npy', mmap_mode='r')
    for i in np.random.default_rng(r).permutation(len(want)):
        np.testing.assert_array_equal(decode(f'{MNT}/{name}/{i:06d}.png'), want[i])
        if i % 4 == r:
            np.testing.assert_array_equal(a[i], want[i])
        if i % 16 == 0:
            open('/proc/sys/vm/drop_caches', 'w').write('2') if os.geteuid() == 0 else None
PY
}

@test "a sample at random costs its own part of a chunk, once its chunk was entered" {
	make_chunked
	h5fs_mount d.h5 cache=200K threads=1
	for name in plain shuffled summed; do
		read_samples $name 2
	done
	read_samples deep 1
	[ "$(metric_settled h5fs_points_bytes)" -gt 10000 ]
	# the cache holds two chunks of ten: without parts each sample were one
	[ "$(metric h5fs_parts_decoded_total)" -gt 300 ]
	[ "$(metric h5fs_chunks_decoded_total)" -lt 300 ]
	assert_eq "$(cat "$MNT/.h5fs/errors")" ""
}

@test "points=0 keeps none, and all is read as well" {
	make_chunked
	h5fs_mount d.h5 cache=200K points=0
	read_samples plain 1
	assert_eq "$(metric_settled h5fs_points_max_bytes)" 0
	assert_eq "$(metric h5fs_parts_decoded_total)" 0
	[ "$(metric h5fs_chunks_decoded_total)" -gt 100 ]
}

@test "points= bounds the file, which has no name and goes with the mount" {
	make_chunked
	mkdir cache
	chmod 700 cache
	XDG_CACHE_HOME=$TMP/cache h5fs_mount d.h5 cache=200K points=5M
	read_samples plain 1
	assert_eq "$(metric_settled h5fs_points_max_bytes)" $((5 << 20))
	[ "$(metric h5fs_points_bytes)" -gt 0 ]
	assert_eq "$(ls -A cache)" ""
}

@test "where no file can be made the mount does without" {
	[ "${SANITIZE-}" != thread ] || skip "its runtime needs a file of its own"
	make_chunked
	# nothing may be written to any file
	(ulimit -f 0 && exec "$H5FS" -f -o cache=200K d.h5 "$MNT") >/dev/null 2>&1 3>&- &
	PARENT=$!
	wait_for is_mounted "$MNT"
	read_samples plain 1
	assert_eq "$(metric_settled h5fs_points_chunks_total)" 0
}

@test "in order, the next chunk is decoded before it is asked for" {
	[ "$(nproc)" -gt 1 ] || skip "a single core"
	make_chunked
	h5fs_mount d.h5
	py <<'PY'
with h5py.File('d.h5', 'r', locking=False) as f:
    want = f['plain'][...]
np.testing.assert_array_equal(np.load(MNT + '/plain.npy'), want)
from png import decode
for i in range(320):
    np.testing.assert_array_equal(decode(f'{MNT}/shuffled/{i:06d}.png'), want[i])
PY
	[ "$(metric_settled h5fs_ahead_used_total)" -gt 3 ]
	# none twice
	assert_eq "$(metric h5fs_chunks_decoded_total)" 20
}
