#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# A mount's life: how it begins, and every way it may end.
load ../lib/mount

# The processes of mounts below this test's folder.
ours()
{
	local p

	for p in $(pgrep -x h5fs); do
		tr '\0' ' ' <"/proc/$p/cmdline" 2>/dev/null | grep -qF "$TMP" && echo "$p"
	done
	return 0
}
none_left() { [ -z "$(ours)" ]; }

teardown()
{
	local p

	[ -z "$PARENT" ] || h5fs_unmount
	unmount_all_below "$TMP"
	for p in $(ours); do
		kill -9 "$p" 2>/dev/null
	done
	return 0
}

@test "the mount returns once it serves, prints nothing off a terminal, and ends with its unmount" {
	h5_make d.h5 images:u8:3x16x16x3
	run "$H5FS" "$TMP/d.h5" "$MNT" 3>&-
	assert_eq "$status" 0 "exit status ($output)"
	assert_eq "$output" ''
	is_mounted "$MNT"
	assert_same_pixels "$MNT/images/000002.png" d.h5 images 2
	fusermount3 -u "$MNT" || umount "$MNT"
	wait_for none_left
}

@test "h5fs mount FILE DIR is the same" {
	h5_make d.h5 x:u8:3
	"$H5FS" mount "$TMP/d.h5" "$MNT" 3>&-
	[ -e "$MNT/x.npy" ]
	umount "$MNT"
	wait_for none_left
}

@test "without DIR it is ./STEM, made for it and removed after" {
	h5_make d.data.h5 x:u8:3
	"$H5FS" "$TMP/d.data.h5" 3>&-
	[ -e d.data/x.npy ]
	fusermount3 -u d.data || umount d.data
	wait_for none_left
	[ ! -e d.data ]
}

@test "./STEM that is there already: an empty folder is used and kept, a full one refused" {
	h5_make d.h5 x:u8:3
	mkdir d
	touch d/mine
	run "$H5FS" "$TMP/d.h5" 3>&-
	assert_eq "$status" 1 "exit status ($output)"
	[ -e d/mine ]
	not_mounted "$TMP/d"
}

@test "a folder given is kept" {
	h5_make d.h5 x:u8:3
	h5fs_mount d.h5
	h5fs_unmount
	[ -d "$MNT" ]
}

@test "SIGTERM and SIGINT unmount" {
	h5_make d.h5 x:u8:3
	for signal in TERM INT; do
		"$H5FS" "$TMP/d.h5" "$MNT" 3>&-
		is_mounted "$MNT"
		all=$(ours | paste -sd' ')
		for p in $all; do # the one whose parent is none of ours
			case " $all " in
			*" $(ps -o ppid= -p "$p" | tr -d ' ') "*) ;;
			*) parent=$p ;;
			esac
		done
		kill -"$signal" "$parent"
		wait_for not_mounted "$MNT"
		wait_for none_left
	done
}

@test "SIGTERM to the daemon itself unmounts too" {
	h5_make d.h5 x:u8:3
	h5fs_mount d.h5
	kill -TERM "$(daemon_pid)"
	wait_for not_mounted "$MNT"
	wait_for_end "$PARENT"
	PARENT=
}

@test "unmounting while a file is open" {
	h5_make d.h5 images:u8:3x64x64x3
	h5fs_mount d.h5
	exec 7<"$MNT/images/000000.png"
	kill -TERM "$PARENT"
	wait_for not_mounted "$MNT"
	exec 7<&-
	wait_for_end "$PARENT"
	PARENT=
}

@test "a daemon that is killed leaves no dead mount behind" {
	h5_make d.h5 x:u8:3
	h5fs_mount d.h5
	kill -9 "$(daemon_pid)"
	wait_for not_mounted "$MNT"
	wait_for_end "$PARENT"
	status=0
	wait "$PARENT" || status=$?
	PARENT=
	assert_eq "$status" 1 "exit status"
	ls -la "$MNT" >/dev/null
}

@test "and so in the background, with ./STEM" {
	h5_make d.h5 x:u8:3
	"$H5FS" "$TMP/d.h5" 3>&-
	is_mounted "$TMP/d"
	for p in $(ours); do
		case " $(ours | tr '\n' ' ') " in
		*" $(ps -o ppid= -p "$p" | tr -d ' ') "*) kill -9 "$p" ;;
		esac
	done
	wait_for not_mounted "$TMP/d"
	wait_for none_left
	[ ! -e d ]
}

@test "a mount of which nobody asks anything sleeps" {
	local pid before

	h5_make d.h5 images:u8:3x16x16x3
	for options in ro commit=auto; do
		h5fs_mount d.h5 "$options"
		cat "$MNT"/images/* >/dev/null
		pid=$(daemon_pid)
		before=$(cut -d ' ' -f 14,15 "/proc/$pid/stat")
		sleep 2
		# in hundredths of a second
		awk -v a="$before" '{ split(a, b); exit $14 + $15 - b[1] - b[2] > 50 }' \
			"/proc/$pid/stat"
		h5fs_unmount
	done
}

@test "timeout=SECONDS unmounts when nobody asks" {
	h5_make d.h5 x:u8:3
	h5fs_mount d.h5 timeout=1
	cat "$MNT/x.npy" >/dev/null
	wait_for not_mounted "$MNT"
	wait_for_end "$PARENT"
	PARENT=
}

@test "notify=FD gets one line when it serves" {
	h5_make d.h5 x:u8:3
	"$H5FS" -o notify=9 "$TMP/d.h5" "$MNT" 9>said 3>&-
	is_mounted "$MNT"
	assert_eq "$(wc -l <said)" 1
	umount "$MNT"
	wait_for none_left
}

@test "one file in two mounts at once" {
	h5_make d.h5 images:u8:3x16x16x3
	mkdir second
	"$H5FS" -o ro "$TMP/d.h5" "$TMP/second" 3>&-
	h5fs_mount d.h5
	cmp "$MNT/images/000001.png" second/images/000001.png
	umount second
	[ -e "$MNT/images.npy" ]
}

# installed COMMAND... - where h5fs lies in /usr/local/bin, in a mount namespace
# of its own: mount(8) looks for it in a PATH of its own
installed()
{
	mkdir -p bin
	ln -sf "$H5FS" bin/h5fs
	unshare --mount --propagation private bash -euc '
		mount --bind bin /usr/local/bin
		"$@"
		grep " $MNT " /proc/self/mounts
		test -e "$MNT/images/000002.png"
		umount "$MNT"' bash "$@" 3>&-
}

@test "mount -t fuse.h5fs" {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	unshare -m true 2>/dev/null || skip "needs a mount namespace"
	h5_make d.h5 images:u8:3x16x16x3
	export MNT
	installed mount -t fuse.h5fs "$TMP/d.h5" "$MNT" -o classes=both >said
	assert_match "$(cat said)" "$TMP/d.h5 $MNT fuse.h5fs rw,*"
	installed mount -t fuse.h5fs "$TMP/d.h5" "$MNT" -o ro >said
	assert_match "$(cat said)" "$TMP/d.h5 $MNT fuse.h5fs ro,*"
	wait_for none_left
}

@test "a line of fstab" {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	unshare -m true 2>/dev/null || skip "needs a mount namespace"
	h5_make d.h5 images:u8:3x16x16x3
	echo "$TMP/d.h5 $MNT fuse.h5fs ro,nofail,noatime,allow_other,default_permissions,cache=16M 0 0" >fstab
	export MNT
	installed mount -T fstab "$MNT" >said
	assert_match "$(cat said)" '*allow_other*'
	wait_for none_left
}

@test "nothing that was allocated is lost" {
	[[ $SANITIZE == *address* ]] || skip "needs the address sanitizer"
	h5fs_mount "$LAYOUTS/types_images.h5" nosandbox
	h5fs_unmount
	export ASAN_OPTIONS=detect_leaks=1
	for f in catvnoncat_train links types_images strings vlen_misc attrs vds odd_names; do
		h5fs_mount "$LAYOUTS/$f.h5" nosandbox
		find "$MNT" -type f -exec cat {} + >/dev/null
		find "$MNT" ! -type l -exec getfattr --absolute-names -d {} + >/dev/null
		cat "$MNT"/.h5fs/{status,errors,metrics} >/dev/null
		ls "$MNT"/*.by-class >/dev/null 2>&1 || true
		h5fs_unmount
	done
}
