#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Eight readers at once. READERS_SECONDS says for how long.
load ../lib/mount

SECONDS_EACH=${READERS_SECONDS:-10}

# read_all TYPE FILTERS - every kind of read of one dataset by eight processes,
# beside a cache that holds a fraction of it
read_all()
{
	h5_make d.h5 "images:u8:512x48x48x3:$1" labels:i32:512:mod=10
	h5fs_mount d.h5 cache=1M threads=8
	"$PYTHON" "$LIB/readers.py" "$MNT/images" d.h5 images 8 "$2"
	[ "$(metric_settled h5fs_chunks_decoded_total)" -gt 30 ]
	h5fs_unmount
}

@test "eight readers on one compressed dataset: no report, no wrong byte" {
	read_all gzip:shuffle:chunk=16x48x48x3 "$SECONDS_EACH"
}

@test "eight readers while what they read goes through the library" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    f.create_dataset('images', data=np.arange(200 * 48 * 48 * 3).astype('u1').reshape(200, 48, 48, 3),
                     chunks=(8, 48, 48, 3), scaleoffset=0)
PY
	h5fs_mount d.h5 cache=1M threads=8
	"$PYTHON" "$LIB/readers.py" "$MNT/images" d.h5 images 8 $(((SECONDS_EACH + 4) / 5))
	[ "$(metric_settled h5fs_library_reads_total)" -gt 10 ]
}

@test "readers while FILE is replaced under them" {
	h5_make d.h5 images:u8:128x48x48x3:gzip:chunk=16x48x48x3
	h5fs_mount d.h5 cache=1M threads=8
	"$PYTHON" "$LIB/readers.py" "$MNT/images" d.h5 images 4 3 >out 2>&1 3>&- &
	reader=$!
	for k in 1 2 3 4; do
		cp d.h5 next.h5
		mv next.h5 d.h5
		sleep 0.5
	done
	wait "$reader" || { cat out; false; }
}
