#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# As another user than root.
load ../lib/mount

# /dev/fuse has the mode that udev gives it everywhere; some containers lack it.
# A folder that the user owns and may reach, with a copy of the program.
setup()
{
	TMP=$(mktemp -d /tmp/h5fs-user.XXXXXX)
	MNT=$TMP/mnt
	LOG=$TMP/log
	PARENT=
	cd "$TMP" || return
	mkdir mnt
	cp "$H5FS" h5fs
	h5_make d.h5 images:u8:3x16x16x3
	AS=()
	DEV_MODE=$(stat -c %a /dev/fuse)
	if [ "$(id -u)" -eq 0 ]; then
		[ "$DEV_MODE" = 666 ] || chmod 666 /dev/fuse
		chown -R nobody "$TMP"
		AS=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
	fi
}

teardown()
{
	unmount_all_below "$TMP"
	wait_for gone
	rm -rf "$TMP"
	[ "$(stat -c %a /dev/fuse)" = "$DEV_MODE" ] || chmod "$DEV_MODE" /dev/fuse
}

gone() { ! pgrep -f "^$TMP/h5fs" >/dev/null; }

@test "it mounts and unmounts through fusermount3, and leaves nothing behind" {
	"${AS[@]}" "$TMP/h5fs" "$TMP/d.h5" "$MNT" 3>&-
	assert_match "$(grep " $MNT " /proc/self/mounts)" '* fuse.h5fs rw,nosuid,nodev*'
	"${AS[@]}" sha256sum "$MNT/images/000001.png" >/dev/null
	"${AS[@]}" fusermount3 -u "$MNT"
	wait_for gone
	not_mounted "$MNT"
	[ "$(ls -A mnt)" = '' ]
}

@test "SIGTERM unmounts" {
	"${AS[@]}" "$TMP/h5fs" "$TMP/d.h5" "$MNT" 3>&-
	pkill -TERM -o -f "^$TMP/h5fs"
	wait_for not_mounted "$MNT"
	wait_for gone
}

@test "a daemon that is killed leaves no dead mount" {
	"${AS[@]}" "$TMP/h5fs" "$TMP/d.h5" "$MNT" 3>&-
	pkill -9 -n -f "^$TMP/h5fs"
	wait_for not_mounted "$MNT"
	wait_for gone
}

@test "without DIR" {
	"${AS[@]}" "$TMP/h5fs" "$TMP/d.h5" 3>&-
	"${AS[@]}" test -e d/images/000002.png
	"${AS[@]}" fusermount3 -u d
	wait_for gone
	[ ! -e d ]
}

@test "a file that the user may not read" {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	chown root d.h5
	chmod 600 d.h5
	run "${AS[@]}" "$TMP/h5fs" "$TMP/d.h5" "$MNT" 3>&-
	assert_eq "$status" 1
	assert_match "${output,,}" '*permission denied*'
}
