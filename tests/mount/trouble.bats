# SPDX-License-Identifier: MIT
# trouble.bats - no room, no lock, a device that fails: what was copied in stays
# staged, one error says why, FILE is unhurt, and the commit succeeds once the
# cause is gone.
load ../lib/mount.bash

setup_file() { bats_require_minimum_version 1.5.0; }

make_set() # FILE
{
	py "$1" <<'PY'
with h5py.File(sys.argv[1], 'w') as f:
    f.create_dataset('images', (2, 32, 32, 3), 'u1', maxshape=(None, 32, 32, 3),
                     chunks=(8, 32, 32, 3))
    f['images'][:] = 7
PY
}

# pictures DIR N - N noisy PNGs
pictures()
{
	py "$1" "$2" <<'PY'
from PIL import Image
os.makedirs(sys.argv[1], exist_ok=True)
rng = np.random.default_rng(5)
for i in range(int(sys.argv[2])):
    a = rng.integers(0, 256, (32, 32, 3), np.uint8)
    Image.fromarray(a).save('%s/n%05d.png' % (sys.argv[1], i), compress_level=1)
PY
}

# rows_are FILE N - h5py sees N rows, the last N - 2 of which are DIR's pictures
rows_are()
{
	py "$1" "$2" "${3:-$TMP/in}" <<'PY'
from PIL import Image
file, n, source = sys.argv[1], int(sys.argv[2]), sys.argv[3]
with h5py.File(file) as f:
    a = f['images'][:]
assert len(a) == n, len(a)
assert (a[:2] == 7).all()
have = sorted(x.tobytes() for x in a[2:])
names = sorted(os.listdir(source))[:n - 2]
want = sorted(np.asarray(Image.open(source + '/' + p)).tobytes() for p in names)
assert have == want
PY
}

needs_loop()
{
	[ "$(id -u)" -eq 0 ] && command -v mkfs.ext4 >/dev/null &&
		[ -e /dev/loop-control ] || skip "needs root and loop devices"
}

small_tmpfs() # SIZE
{
	mkdir small
	mount -t tmpfs -o "size=$1" none small 2>/dev/null || skip "may not mount"
}

@test "a full file system: rows stay staged, FILE is unhurt, and go in later" {
	small_tmpfs 2m
	make_set small/data.h5
	pictures in 60
	cp small/data.h5 before.h5
	h5fs_mount small/data.h5 commit=manual
	cp in/* "$MNT/images/"
	dd if=/dev/zero of=small/fill bs=4k 2>/dev/null || true
	run -1 "$H5FS" commit "$MNT"
	assert_match "$output" "*[Nn]o space*"
	grep -q "make room" "$MNT/.h5fs/errors"
	cmp -n 4096 small/data.h5 before.h5
	rows_are small/data.h5 2
	rm small/fill
	"$H5FS" commit "$MNT"
	h5fs_unmount
	rows_are small/data.h5 62
}

@test "no room for the row itself: cp says so, and nothing is staged" {
	small_tmpfs 1m
	make_set small/data.h5
	pictures in 20
	h5fs_mount small/data.h5 commit=manual
	dd if=/dev/zero of=small/fill bs=1k 2>/dev/null || true
	run cp in/n00000.png "$MNT/images/"
	[ "$status" -ne 0 ]
	assert_match "$output" "*[Nn]o space*"
	refute test -e "$MNT/images/n00000.png"
	rm small/fill
	cp in/n00000.png "$MNT/images/"
	h5fs_unmount
	rows_are small/data.h5 2
	h5fs_mount small/data.h5
	"$H5FS" commit "$MNT"
	h5fs_unmount
	umount small/ 2>/dev/null || true
}

@test "another program holds FILE: the rows wait for it" {
	make_set data.h5
	pictures in 12
	h5fs_mount data.h5 commit=manual
	cp in/* "$MNT/images/"
	py data.h5 "$TMP/go" <<'PY' 3>&- &
import time
with h5py.File(sys.argv[1]) as f:
    open(sys.argv[2], 'w').close()
    time.sleep(6)
PY
	local reader=$!
	wait_for test -e go
	run -1 "$H5FS" commit "$MNT"
	assert_match "$output" "*data.h5*another program*"
	assert_errno EBUSY mkdir "$MNT/new"
	wait "$reader"
	"$H5FS" commit "$MNT"
	mkdir "$MNT/new"
	h5fs_unmount
	rows_are data.h5 14
}

@test "a device that fails: the rows stay staged, and go in once it works" {
	needs_loop
	command -v dmsetup >/dev/null || skip "needs dmsetup"
	truncate -s 32m disk
	local loop
	loop=$(losetup -f --show disk) || skip "no loop device"
	dmsetup create "h5fs$$" --table "0 65536 linear $loop 0" ||
		{ losetup -d "$loop"; skip "no device mapper"; }
	mkfs.ext4 -q "/dev/mapper/h5fs$$"
	mkdir small
	mount "/dev/mapper/h5fs$$" small
	make_set small/data.h5
	pictures in 40
	h5fs_mount small/data.h5 commit=manual
	cp in/* "$MNT/images/"
	sync -f small
	dmsetup suspend "h5fs$$"
	dmsetup load "h5fs$$" --table "0 65536 error"
	dmsetup resume "h5fs$$"
	run "$H5FS" commit "$MNT"
	[ "$status" -eq 1 ]
	dmsetup suspend "h5fs$$"
	dmsetup load "h5fs$$" --table "0 65536 linear $loop 0"
	dmsetup resume "h5fs$$"
	h5fs_unmount || true
	umount small
	mount "/dev/mapper/h5fs$$" small
	h5fs_mount small/data.h5 commit=manual
	"$H5FS" commit "$MNT"
	h5fs_unmount
	rows_are small/data.h5 42
	umount small
	dmsetup remove "h5fs$$"
	losetup -d "$loop"
}

@test "its file system becomes read-only: nothing is lost" {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	small_tmpfs 8m
	make_set small/data.h5
	pictures in 10
	h5fs_mount small/data.h5 commit=manual
	cp in/* "$MNT/images/"
	h5fs_unmount
	mount -o remount,ro small
	h5fs_mount small/data.h5
	assert_errno EROFS mkdir "$MNT/new"
	h5fs_unmount
	mount -o remount,rw small
	h5fs_mount small/data.h5
	"$H5FS" commit "$MNT"
	h5fs_unmount
	rows_are small/data.h5 12
}

@test "a second mount that may write is refused, naming the first" {
	make_set data.h5
	h5fs_mount data.h5
	mkdir other
	run -1 "$H5FS" data.h5 other
	assert_match "$output" "*$(daemon_pid)*"
	refute is_mounted "$TMP/other"
}

@test "a read-only mount sees the commits of a writing one within two seconds" {
	make_set data.h5
	pictures in 8
	h5fs_mount data.h5
	mkdir other
	"$H5FS" -o ro data.h5 other
	cp in/* "$MNT/images/"
	"$H5FS" commit "$MNT"
	WAIT=2 wait_for test -e other/images/000009.png
	cmp other/images/000009.png "$MNT/images/000009.png"
	fusermount3 -u other
}

@test "browsing a mount that may write makes nothing beside FILE, and changes nothing" {
	mkdir d
	make_set d/data.h5
	sha256sum d/data.h5 >sum
	stat -c '%Y %s' d/data.h5 >times
	h5fs_mount d/data.h5
	find "$MNT" -type f -exec cat {} + >/dev/null
	getfattr -dR "$MNT" >/dev/null 2>&1
	ls_is d data.h5
	h5fs_unmount
	ls_is d data.h5
	sha256sum -c --quiet sum
	assert_eq "$(stat -c '%Y %s' d/data.h5)" "$(cat times)"
}
