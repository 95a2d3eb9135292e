#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# FILE changes while it is mounted read-only.
load ../lib/mount

# writer_append FILE N VALUE - N more rows, through h5py, as another program would
writer_append()
{
	py "$@" <<'PY'
import time
path, n, value = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for _ in range(100):
    try:
        f = h5py.File(path, 'r+')
        break
    except OSError:                     # a reader's lock, for microseconds
        time.sleep(.01)
d = f['images']
d.resize(len(d) + n, axis=0)
d[-n:] = value
f.close()
PY
}

@test "rows that another program appends are seen within two seconds" {
	h5_make d.h5 images:u8:4x16x16x3:grow:gzip:chunk=2x16x16x3
	h5fs_mount d.h5 ro
	ls_is "$MNT/images" 000000.png 000001.png 000002.png 000003.png
	writer_append d.h5 2 77
	start=$(date +%s%N)
	wait_for test -e "$MNT/images/000005.png"
	took=$((($(date +%s%N) - start) / 1000000))
	echo "took $took ms"
	[ -n "$SANITIZE" ] || [ "$took" -lt 2000 ]
	assert_eq "$(ls "$MNT/images" | wc -l)" 6
	for i in 0 3 4 5; do
		assert_same_pixels "$MNT/images/00000$i.png" d.h5 images $i
	done
	py <<'PY'
assert np.load(MNT + '/images.npy').shape[0] == 6
PY
}

@test "an open file of a FILE that was changed in place answers ESTALE" {
	h5_make d.h5 images:u8:4x64x64x3:grow:chunk=1x64x64x3
	h5fs_mount d.h5 ro
	exec 7<"$MNT/images.npy"
	writer_append d.h5 1 5
	wait_for test -e "$MNT/images/000004.png"
	run cat <&7
	exec 7<&-
	[ "$status" -ne 0 ]
	assert_match "$output" '*Stale file handle*'
}

@test "an open file of a FILE that was replaced keeps the old data" {
	h5_make d.h5 images:u8:3x64x64x3 a:u8:3
	h5_make new.h5 images:u8:5x64x64x3:mod=9 b:u8:3
	cp d.h5 old.h5
	h5fs_mount d.h5 ro
	exec 7<"$MNT/images/000001.png"
	mv new.h5 d.h5
	wait_for test -e "$MNT/b.npy"
	[ ! -e "$MNT/a.npy" ]
	assert_same_pixels /dev/fd/7 old.h5 images 1
	exec 7<&-
	assert_same_pixels "$MNT/images/000001.png" d.h5 images 1
	assert_eq "$(ls "$MNT/images" | wc -l)" 5
}

@test "a FILE that vanishes or becomes something else gives errors, not a crash" {
	h5_make d.h5 images:u8:3x64x64x3
	cp d.h5 keep.h5
	h5fs_mount d.h5 ro
	cat "$MNT/images/000000.png" >/dev/null
	rm d.h5
	sleep 1.2
	ls "$MNT" >/dev/null 2>&1 || true
	echo 'not HDF5' >d.h5
	sleep 1.2
	cat "$MNT/images/000001.png" >/dev/null 2>&1 || true
	mv keep.h5 d.h5
	wait_for cmp_again
}
cmp_again() { assert_same_pixels "$MNT/images/000002.png" d.h5 images 2 2>/dev/null; }

@test "a mount read-only locks out nobody" {
	h5_make d.h5 images:u8:4x16x16x3:grow:chunk=1x16x16x3
	h5fs_mount d.h5 ro
	cat "$MNT/images/"*.png >/dev/null
	exec 7<"$MNT/images/000002.png"
	py <<'PY'
f = h5py.File('d.h5', 'r+')             # at the first try
f['x'] = 1
f.close()
PY
	exec 7<&-
	flock -n -x d.h5 true
}

# Holds FILE as a writer does, until told to stop; writes nothing.
hold_file() # SECONDS
{
	"$PYTHON" -c '
import fcntl, sys, time
f = open(sys.argv[1], "rb+")
fcntl.flock(f, fcntl.LOCK_EX)
open("held", "w").close()
time.sleep(float(sys.argv[2]))' d.h5 "$1" 3>&- &
	HOLDER=$!
	wait_for test -e held
}

@test "a reader waits for a writer" {
	h5_make d.h5 images:u8:200x16x16x3:chunk=1x16x16x3
	h5fs_mount d.h5 ro
	hold_file 2
	assert_same_pixels "$MNT/images/000150.png" d.h5 images 150
	wait "$HOLDER"
}

@test "and not for ever: EAGAIN" {
	h5_make d.h5 images:u8:200x16x16x3:gzip:chunk=1x16x16x3
	h5fs_mount d.h5 ro
	hold_file 60
	assert_errno EAGAIN read "$MNT/images/000153.png"
	kill "$HOLDER"
	wait "$HOLDER" || true
	assert_same_pixels "$MNT/images/000153.png" d.h5 images 153
}

@test "a FILE that a writer holds does not mount, and the message says so" {
	h5_make d.h5 images:u8:4x16x16x3
	hold_file 60
	run timeout 30 "$H5FS" -o ro d.h5 "$MNT" 3>&-
	kill "$HOLDER"
	assert_eq "$status" 1
	assert_match "$output" '*lock*'
	assert_eq "${#lines[@]}" 1
}

@test "no reader gets a wrong byte while rows are appended" {
	h5_make d.h5 images:u8:8x32x32x3:grow:gzip:chunk=4x32x32x3
	h5fs_mount d.h5 ro
	"$PYTHON" - "$MNT" "$LIB" >wrong 2>&1 3>&- <<'PY' &
import errno, os, sys
sys.path.insert(0, sys.argv[2])
from png import decode
top = sys.argv[1] + '/images/'
want = [decode(top + '%06d.png' % i).tobytes() for i in range(8)]
open('ready', 'w').close()
n = 0
while not os.path.exists('stop'):
    for i in range(8):
        p = top + '%06d.png' % i
        try:
            fd = os.open(p, os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)
            if decode(p).tobytes() != want[i]:
                print('wrong pixels in', p)
            n += 1
        except OSError as e:
            if e.errno not in (errno.ESTALE, errno.EAGAIN):
                print(p, e)
open('reads', 'w').write(str(n))
PY
	reader=$!
	wait_for test -e ready
	for k in 1 2 3 4 5; do
		writer_append d.h5 3 $((k * 10))
		wait_for test -e "$MNT/images/$(printf %06d $((7 + 3 * k))).png"
	done
	touch stop
	wait "$reader" || { cat wrong; false; }
	cat wrong
	[ ! -s wrong ]
	[ "$(cat reads)" -gt 20 ]
}

@test "who waits for a writer gets what the writer wrote" {
	h5_make d.h5 images:u8:4x32x32x3 x:f8:5
	h5fs_mount d.h5 ro
	"$PYTHON" - 3>&- <<'PY' &
import h5py, time
f = h5py.File('d.h5', 'r+')
f['added'] = [7]
open('holding', 'w').close()
time.sleep(3)
f.close()
PY
	wait_for test -e holding
	assert_eq "$(tr -d ' ' <"$MNT/added.txt")" 7
	assert_errno OK read "$MNT/x.txt"
	wait $!
}
