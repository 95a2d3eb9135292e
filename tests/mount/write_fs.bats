#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What the kernel asks of a mount that may write, and how such a mount lives: the
# verdict of close, what stays without effect, who may write, commit and discard.
load ../lib/mount

# An unlabelled growable set of pictures (H x W 16), a chunk of 4 rows.
make_set() { h5_make "$1" images:u8:2x16x16x3:grow:gzip:chunk=4x16x16x3; }

# picture FILE [SEED] [SIZE] - a PNG
picture()
{
	"$PYTHON" -c '
import sys
import numpy as np
from PIL import Image
n = int(sys.argv[3])
a = np.random.default_rng(int(sys.argv[2])).integers(0, 256, (n, n, 3), np.uint8)
Image.fromarray(a).save(sys.argv[1])' "$1" "${2:-1}" "${3:-16}"
}

# rows FILE N - h5py finds N rows
rows() { py "$1" "$2" <<<'assert len(h5py.File(sys.argv[1], "r", locking=False)["images"]) == int(sys.argv[2])'; }

# row_is FILE INDEX PICTURE - that row is the picture
row_is()
{
	py "$@" <<'PY'
from PIL import Image
f = h5py.File(sys.argv[1], 'r', locking=False)
np.testing.assert_array_equal(f['images'][int(sys.argv[2])], np.asarray(Image.open(sys.argv[3])))
PY
}

# field NAME - of "staged" in .h5fs/status
field()
{
	"$PYTHON" -c '
import json, sys
print(json.load(open(sys.argv[1] + "/.h5fs/status"))["staged"].get(sys.argv[2]))' "$MNT" "$1"
}
field_is() { [ "$(field "$1")" = "$2" ]; }

@test "a close without new bytes repeats the last verdict, one after new bytes decides again" {
	make_set d.h5
	picture good.png
	h5fs_mount d.h5 commit=manual
	py <<'PY'
import errno
def close_is(fd, want):
    d = os.dup(fd)
    try:
        os.close(d)
        got = 0
    except OSError as e:
        got = e.errno
    assert got == want, (errno.errorcode.get(got), errno.errorcode.get(want))
good = open('good.png', 'rb').read()
name = MNT + '/images/new.png'
fd = os.open(name, os.O_RDWR | os.O_CREAT)
close_is(fd, 0)                 # shells and dd do this
os.write(fd, good[:100])
close_is(fd, errno.EINVAL)
close_is(fd, errno.EINVAL)
os.pwrite(fd, good, 0)
close_is(fd, 0)
close_is(fd, 0)
os.close(fd)
from PIL import Image
np.testing.assert_array_equal(np.asarray(Image.open(name)), np.asarray(Image.open('good.png')))
PY
	"$H5FS" commit "$MNT"
	row_is d.h5 2 good.png
}

@test "what close refused is an error of cp, is not there, and .h5fs/errors says why" {
	make_set d.h5
	picture big.png 1 20
	picture good.png
	h5fs_mount d.h5
	run cp big.png "$MNT/images/x.png"
	assert_eq "$status" 1
	assert_match "$output" '*Invalid argument*'
	[ ! -e "$MNT/images/x.png" ]
	wait_for grep -q 'images/x.png.*fit=' "$MNT/.h5fs/errors"
	cp good.png "$MNT/images/x.png"
	h5fs_unmount
	rows d.h5 3
}

@test "O_TRUNC comes with open: a staged file is written anew, a committed one is EPERM" {
	make_set d.h5
	picture a.png 1
	picture b.png 2
	cp d.h5 before.h5
	h5fs_mount d.h5 commit=manual
	cat a.png >"$MNT/images/x.png"
	cat b.png >"$MNT/images/x.png"
	py <<'PY'
from PIL import Image
np.testing.assert_array_equal(np.asarray(Image.open(MNT + '/images/x.png')), np.asarray(Image.open('b.png')))
PY
	run bash -c "cat a.png >'$MNT/images/000001.png'"
	assert_match "$output" '*Operation not permitted*'
	assert_errno EPERM truncate "$MNT/images/000001.png"
	assert_errno EPERM open_write "$MNT/images/000001.png"
	assert_same_pixels "$MNT/images/000001.png" before.h5 images 1
	"$H5FS" commit "$MNT"
	rows d.h5 3
	row_is d.h5 2 b.png
}

@test "many small writes, writes through a map, and appending writes make the same file" {
	make_set d.h5
	picture a.png 1
	h5fs_mount d.h5 commit=manual
	py <<'PY'
import mmap
good = open('a.png', 'rb').read()
with open(MNT + '/images/small.png', 'wb', buffering=0) as f:
    for i in range(0, len(good), 7):
        f.write(good[i:i + 7])
fd = os.open(MNT + '/images/map.png', os.O_RDWR | os.O_CREAT)
os.ftruncate(fd, len(good))
m = mmap.mmap(fd, len(good))
m[:] = good
m.flush()
m.close()
os.close(fd)
fd = os.open(MNT + '/images/append.png', os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.write(fd, good[:50])
os.write(fd, good[50:])
os.close(fd)
PY
	"$H5FS" commit "$MNT"
	rows d.h5 5
	for i in 2 3 4; do
		row_is d.h5 $i a.png
	done
}

@test "chmod, chown and utimes are accepted without effect" {
	make_set d.h5
	picture a.png
	h5fs_mount d.h5 commit=manual
	cp -p a.png "$MNT/images/x.png"
	install -m 600 a.png "$MNT/images/y.png"
	for f in images images/000001.png images/x.png images.npy; do
		before=$(stat -c '%a %u %g %Y' "$MNT/$f")
		chmod 751 "$MNT/$f"
		chown 7:8 "$MNT/$f" 2>/dev/null || [ "$(id -u)" -ne 0 ]
		touch -d 2001-01-01 "$MNT/$f"
		assert_eq "$(stat -c '%a %u %g %Y' "$MNT/$f")" "$before" "$f"
	done
	assert_eq "$(stat -c %a "$MNT/images/x.png")" 644
	assert_eq "$(stat -c %a "$MNT/images")" 755
}

@test "rename takes RENAME_NOREPLACE and no other flag; hard links and devices are EPERM" {
	make_set d.h5
	picture a.png 1
	picture b.png 2
	h5fs_mount d.h5 commit=manual
	cp a.png "$MNT/images/a.png"
	cp b.png "$MNT/images/b.png"
	py <<'PY'
import ctypes, errno, stat
libc = ctypes.CDLL(None, use_errno=True)
def rename(a, b, flags):
    r = libc.renameat2(-100, (MNT + a).encode(), -100, (MNT + b).encode(), flags)
    return ctypes.get_errno() if r else 0
assert rename('/images/a.png', '/images/b.png', 1) == errno.EEXIST
assert rename('/images/a.png', '/images/b.png', 2) == errno.EINVAL
assert rename('/images/a.png', '/images/c.png', 1) == 0
assert sorted(os.listdir(MNT + '/images')) == ['000000.png', '000001.png', 'b.png', 'c.png']
def fails(want, f, *args):
    try:
        f(*args)
    except OSError as e:
        assert e.errno == want, e
    else:
        raise AssertionError(f)
fails(errno.EPERM, os.link, MNT + '/images/c.png', MNT + '/images/d.png')
fails(errno.EPERM, os.link, MNT + '/images/000000.png', MNT + '/images/d.png')
fails(errno.EPERM, os.mkfifo, MNT + '/fifo')
fails(errno.EPERM, os.unlink, MNT + '/images/000000.png')
PY
	mv "$MNT/images/b.png" "$MNT/images/c.png"
	ls_is "$MNT/images" 000000.png 000001.png c.png
	"$H5FS" commit "$MNT"
	row_is d.h5 2 b.png
}

@test "a file larger than what is kept in memory is copied in" {
	h5_make d.h5 images:u8:1x900x900x3:grow:chunk=1x900x900x3
	picture a.png 3 900
	[ "$(stat -c %s a.png)" -gt 2000000 ]
	h5fs_mount d.h5
	cp a.png "$MNT/images/"
	h5fs_unmount
	row_is d.h5 1 a.png
}

@test "unmounting commits, and so do SIGTERM and SIGINT" {
	make_set d.h5
	picture a.png
	h5fs_mount d.h5
	cp a.png "$MNT/images/one.png"
	h5fs_unmount
	rows d.h5 3
	n=3
	for signal in TERM INT; do
		h5fs_mount d.h5
		picture a.png $n
		cp a.png "$MNT/images/new.png"
		kill -"$signal" "$PARENT"
		wait_for_end "$PARENT"
		not_mounted "$MNT"
		PARENT=
		rows d.h5 $((n + 1))
		row_is d.h5 $n a.png
		n=$((n + 1))
	done
	[ ! -e .d.h5.h5fs ]
}

@test "SIGTERM to the daemon itself commits too" {
	make_set d.h5
	picture a.png
	h5fs_mount d.h5
	cp a.png "$MNT/images/new.png"
	kill -TERM "$(daemon_pid)"
	wait_for not_mounted "$MNT"
	wait_for_end "$PARENT"
	PARENT=
	rows d.h5 3
}

@test "a chunk that is full is committed at once, and both kinds of mounts show it" {
	make_set d.h5
	picture a.png
	mkdir ro
	"$H5FS" -o ro "$TMP/d.h5" "$TMP/ro" 3>&-
	h5fs_mount d.h5
	ls "$MNT/images" >/dev/null
	start=$(date +%s%N)
	for i in 0 1 2 3 4 5; do
		cp a.png "$MNT/images/n$i.png"
	done
	wait_for rows d.h5 8
	took=$((($(date +%s%N) - start) / 1000000))
	echo "took $took ms"
	[ -n "$SANITIZE" ] || [ "$took" -lt 3000 ]
	wait_for test -e "$MNT/images/000007.png"
	wait_for test -e ro/images/000007.png
	assert_same_pixels "$MNT/images/000007.png" d.h5 images 7
	[ "$(stat -c %s "$MNT/images.npy")" -eq $((128 + 8 * 768)) ]
	umount ro
}

@test "commit=manual: nothing is committed until h5fs commit, and the next mount has it" {
	make_set d.h5
	picture a.png
	cp d.h5 before.h5
	h5fs_mount d.h5 commit=manual
	for i in 0 1 2 3 4 5; do
		cp a.png "$MNT/images/n$i.png"
	done
	sleep 1.5
	h5fs_unmount
	grep -q 'rows staged, not in the file yet: 6' "$LOG"
	cmp d.h5 before.h5
	h5fs_mount d.h5 commit=manual
	ls_is "$MNT/images" 000000.png 000001.png n0.png n1.png n2.png n3.png n4.png n5.png
	wait_for field_is rows 6
	run "$H5FS" commit "$MNT"
	assert_eq "$status" 0
	assert_match "$output" '*nothing is staged*'
	rows d.h5 8
}

@test "rows that wait are told by status, commit, at the end, and by the next mount" {
	h5_make d.h5 images:u8:2x16x16x3:grow:chunk=4x16x16x3 masks:u8:2x16x16:mod=2:grow:chunk=4x16x16
	picture a.png
	h5fs_mount d.h5
	cp a.png "$MNT/images/alone.png"
	wait_for field_is waiting 1
	"$H5FS" status "$MNT" | grep -q masks
	run "$H5FS" commit "$MNT"
	assert_eq "$status" 0
	assert_match "$output" '*alone*waits for masks*'
	h5fs_unmount
	grep -q 'alone.*waits for masks' "$LOG"
	rows d.h5 2
	"$PYTHON" -c 'import os; os.openpty()' 2>/dev/null || skip "no terminals here"
	py "$H5FS" >said <<'PY'
import pty
pty.spawn([sys.argv[1], 'd.h5', MNT])
PY
	umount "$MNT"
	grep -q 'alone.*waits for masks' said
	grep -q 'what is copied in is added' said
}

@test "h5fs discard drops a file, a directory, or all, and nothing that is committed" {
	make_set d.h5
	picture a.png
	h5fs_mount d.h5 commit=manual
	for i in 0 1 2 3; do
		cp a.png "$MNT/images/n$i.png"
	done
	mkdir -p "$MNT/case.part/sub"
	"$H5FS" discard "$MNT" "$MNT/images/n0.png"
	"$H5FS" discard "$MNT" images/n1.png
	(cd "$MNT/images" && "$H5FS" discard "$MNT" n2.png)
	ls_is "$MNT/images" 000000.png 000001.png n3.png
	run "$H5FS" discard "$MNT" images/000000.png
	assert_eq "$status" 1
	assert_match "$output" '*000000.png*not staged*'
	run "$H5FS" discard "$MNT" images/nothing.png
	assert_eq "$status" 1
	cp a.png "$MNT/images/n4.png"
	"$H5FS" discard "$MNT" "$MNT/images/"
	ls_is "$MNT/images" 000000.png 000001.png
	[ -d "$MNT/case.part/sub" ]
	"$H5FS" discard "$MNT" case.part
	[ ! -e "$MNT/case.part" ]
	mkdir "$MNT/other.part"
	cp a.png "$MNT/images/n5.png"
	run "$H5FS" discard "$MNT"
	assert_eq "$status" 0
	assert_match "$output" '*nothing is staged*'
	ls_is "$MNT" images images.npy
	h5fs_unmount
	[ ! -e .d.h5.h5fs ]
	rows d.h5 2
}

@test "h5fs discard of a class folder drops what is staged there" {
	h5_make d.h5 images:u8:4x16x16x3:grow:chunk=4x16x16x3 labels:i32:4:mod=2:grow:chunk=4
	picture a.png
	h5fs_mount d.h5 commit=manual
	for c in 0 1; do
		cp a.png "$MNT/images.by-class/$c/new.png"
	done
	"$H5FS" discard "$MNT" images.by-class/0
	ls_is "$MNT/images.by-class/0" 000000.png 000002.png
	ls_is "$MNT/images.by-class/1" 000001.png 000003.png new.png
	"$H5FS" discard "$MNT" images.by-class
	ls_is "$MNT/images.by-class/1" 000001.png 000003.png
	h5fs_unmount
}

@test "control takes lines from a shell; what is no command is EINVAL" {
	make_set d.h5
	picture a.png
	h5fs_mount d.h5 commit=manual
	cp a.png "$MNT/images/n0.png"
	cp a.png "$MNT/images/n1.png"
	echo 'discard /images/n0.png' >"$MNT/.h5fs/control"
	ls_is "$MNT/images" 000000.png 000001.png n1.png
	echo commit >"$MNT/.h5fs/control"
	rows d.h5 3
	assert_errno EINVAL write "$MNT/.h5fs/control"
	assert_eq "$(stat -c %a "$MNT/.h5fs/control")" 200
}

@test "commands on a mount that only reads, and on what is no mount" {
	make_set d.h5
	h5fs_mount d.h5 ro
	for c in commit discard; do
		run "$H5FS" $c "$MNT"
		assert_eq "$status" 1
		assert_match "$output" '*read-only*'
		run "$H5FS" $c "$TMP"
		assert_eq "$status" 1
		assert_match "$output" '*not an h5fs mount*'
		run "$H5FS" $c
		assert_eq "$status" 2
	done
	run "$H5FS" recover
	assert_eq "$status" 2
	run "$H5FS" recover d.h5
	assert_eq "$status" 0
	run "$H5FS" recover nothing.h5
	assert_eq "$status" 1
}

@test "browsing makes nothing beside FILE, and leaves FILE as it was" {
	make_set d.h5
	cp d.h5 before.h5
	h5fs_mount d.h5
	find "$MNT" -type f -exec cat {} + >/dev/null
	getfattr -hdR --absolute-names "$MNT" >/dev/null
	[ ! -e .d.h5.h5fs ]
	h5fs_unmount
	[ ! -e .d.h5.h5fs ]
	cmp d.h5 before.h5
}

blobs_used() { echo "$(metric_settled h5fs_cache_hits_total) $(metric_settled h5fs_cache_misses_total)"; }

# whoever drops the machine's caches meanwhile is no failure
reads_ask_nothing()
{
	local before

	cat "$MNT/images/000000.png" >/dev/null
	before=$(blobs_used)
	for _ in 1 2 3; do
		cat "$MNT/images/000000.png" >/dev/null
	done
	[ "$(blobs_used)" = "$before" ]
}

@test "committed files are read from the kernel's cache" {
	make_set d.h5
	h5fs_mount d.h5
	WAIT=60 wait_for reads_ask_nothing
}

# stop_commit N - as if the machine went down with a commit's Nth write to a file:
# the sixth applies it, when the first three have not logged it yet
stop_commit()
{
	strace -f -o /dev/null -e trace=pwrite64 -e "inject=pwrite64:signal=KILL:when=$1" \
		"$H5FS" -f -o nosandbox "$TMP/d.h5" "$MNT" 2>/dev/null 3>&- &
	wait_for is_mounted "$MNT"
	mkdir "$MNT/group" 2>/dev/null || true
	wait $! || true
	not_mounted "$MNT"
	[ -e .d.h5.h5fs/journal ]
}

@test "an interrupted commit is finished by the next mount, also by one that only reads" {
	strace -o /dev/null true 2>/dev/null || skip "needs strace"
	[[ $SANITIZE != *thread* ]] || skip "threads are not followed"
	for mode in ro rw; do
		rm -f d.h5
		make_set d.h5
		stop_commit 6
		refute h5dump -H d.h5
		run "$H5FS" info d.h5
		assert_eq "$status" 1
		assert_match "$output" '*h5fs recover*'
		h5fs_mount d.h5 $mode
		[ -d "$MNT/group" ]
		h5fs_unmount
		grep -q 'was finished' "$LOG"
		h5dump -H d.h5 | grep -q group
		[ ! -e .d.h5.h5fs ]
		: >"$LOG"
	done
}

@test "h5fs recover finishes a commit, or drops one that was not logged" {
	strace -o /dev/null true 2>/dev/null || skip "needs strace"
	[[ $SANITIZE != *thread* ]] || skip "threads are not followed"
	make_set d.h5
	stop_commit 6
	run "$H5FS" recover d.h5
	assert_eq "$status" 0
	assert_match "$output" 'd.h5: *finished*'
	h5dump -H d.h5 | grep -q group
	rm d.h5
	make_set d.h5
	stop_commit 3
	run "$H5FS" recover d.h5
	assert_eq "$status" 0
	assert_match "$output" 'd.h5: *dropped*'
	rows d.h5 2
	run "$H5FS" recover d.h5
	assert_eq "$status" 0
	assert_match "$output" '*nothing*'
	[ ! -e .d.h5.h5fs ]
}

@test "another program has FILE open at the end: the rows stay staged, and it ends in time" {
	make_set d.h5
	picture a.png
	h5fs_mount d.h5
	cp a.png "$MNT/images/n0.png"
	"$PYTHON" -c '
import h5py, os, time
with h5py.File("d.h5", "r"):
    open("holding", "w").close()
    while not os.path.exists("go"):
        time.sleep(.05)' 3>&- &
	wait_for test -e holding
	start=$SECONDS
	h5fs_unmount
	[ $((SECONDS - start)) -lt 10 ]
	grep -q 'rows staged, not in the file yet: 1' "$LOG"
	grep -q 'last commit failed: .*another program' "$LOG"
	touch go
	wait $!
	rows d.h5 2
	h5fs_mount d.h5
	"$H5FS" commit "$MNT"
	rows d.h5 3
}

@test "FILE with several hard links is mounted read-only, and says so" {
	make_set d.h5
	ln d.h5 e.h5
	h5fs_mount d.h5
	assert_match "$(cat "$LOG")" '*read-only*hard links*'
	assert_match "$(grep " $MNT " /proc/self/mounts)" '* fuse.h5fs ro,*'
	assert_errno EROFS mkdir "$MNT/x"
	"$H5FS" status --json "$MNT" | grep -q '"mode_why".*hard links'
}

@test "a FILE on a file system that is mounted read-only" {
	[ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null || skip "needs a mount namespace"
	mkdir in
	make_set in/d.h5
	export MNT H5FS TMP
	unshare --mount --propagation private bash -euc '
		mount --bind in in
		mount -o remount,bind,ro in
		"$H5FS" in/d.h5 "$MNT" 2>said
		grep " $MNT fuse.h5fs ro," /proc/self/mounts
		umount "$MNT"' 3>&-
	assert_match "$(cat said)" '*read-only*'
}

@test "a FILE, or a directory, that the user may not write is mounted read-only" {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	local dev_mode dir
	dev_mode=$(stat -c %a /dev/fuse)
	dir=$(mktemp -d /tmp/h5fs-user.XXXXXX)
	chmod 666 /dev/fuse
	mkdir "$dir/in" "$dir/mnt"
	make_set "$dir/in/d.h5"
	cp "$H5FS" "$dir/h5fs"
	chown nobody "$dir" "$dir/mnt"
	chmod 755 "$dir"
	for owner in root nobody; do
		chown "$owner" "$dir/in/d.h5"
		run setpriv --reuid=nobody --regid=nogroup --clear-groups \
			"$dir/h5fs" "$dir/in/d.h5" "$dir/mnt" 3>&-
		echo "$output"
		mode=$(awk -v d="$dir/mnt" '$2 == d { print $4 }' /proc/self/mounts)
		umount "$dir/mnt"
		[[ $output == *read-only* && $mode == ro,* ]] || status=99
		[ "$status" -eq 0 ] || break
	done
	chmod "$dev_mode" /dev/fuse
	rm -rf "$dir"
	assert_eq "$status" 0
}

@test "a second mount that may write is refused and named the first's process; -o ro is not" {
	make_set d.h5
	mkdir second
	h5fs_mount d.h5
	run "$H5FS" d.h5 second 3>&-
	assert_eq "$status" 1
	assert_match "$output" "*process $(daemon_pid)*"
	run "$H5FS" -o edit d.h5 second 3>&-
	assert_eq "$status" 1
	not_mounted "$TMP/second"
	"$H5FS" -o ro d.h5 second 3>&-
	[ -e second/images/000001.png ]
	umount second
}

@test "a mount waits for the last commit of the one before" {
	h5_make d.h5 images:u8:2x256x256x3:grow:gzip:chunk=4x256x256x3
	picture a.png 1 256
	"$H5FS" "$TMP/d.h5" "$MNT" 3>&-
	for i in $(seq 20); do
		cp a.png "$MNT/images/n$i.png"
	done
	umount "$MNT"
	h5fs_mount d.h5 # the daemon before may still commit
	wait_for test -e "$MNT/images/000021.png"
	h5fs_unmount
	rows d.h5 22
}

@test "stage=DIR keeps what is staged there, and a mount without it finds it" {
	make_set d.h5
	picture a.png
	mkdir elsewhere
	h5fs_mount d.h5 commit=manual,stage=elsewhere
	cp a.png "$MNT/images/n0.png"
	[ -n "$(ls -A elsewhere)" ]
	h5fs_unmount
	h5fs_mount d.h5 commit=manual
	[ -e "$MNT/images/n0.png" ]
	"$H5FS" commit "$MNT"
	h5fs_unmount
	rows d.h5 3
	assert_eq "$(ls -A elsewhere)" ''
	[ ! -e .d.h5.h5fs ]
}

@test "a confined daemon that may write writes FILE, and its journal beside it" {
	mkdir in out
	make_set in/d.h5
	h5fs_mount in/d.h5
	assert_eq "$(awk '/^NoNewPrivs/ { print $2 }' "/proc/$(daemon_pid)/status")" 1
	mkdir "$MNT/group"
	py <<'PY'
assert 'group' in h5py.File('in/d.h5', 'r', locking=False)
PY
}
