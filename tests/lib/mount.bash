# SPDX-License-Identifier: MIT
# mount.bash - the verbs of the mount tests. Loaded by each .bats file.
#
# From the environment (CTest sets it): H5FS, the program; LAYOUTS, a folder of
# layout files; PYTHON; SANITIZE, what the program was built with.
# shellcheck shell=bash

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
LIB=$ROOT/tests/lib
H5FS=$(realpath "${H5FS:-$ROOT/build/h5fs}")
PYTHON=${PYTHON:-/usr/bin/python3}
LAYOUTS=${LAYOUTS:-$ROOT/build/layouts}
SANITIZE=${SANITIZE:-}
WAIT=${WAIT:-20} # seconds until a condition has failed

# The confined daemon can open no file to report into and not read its own
# /proc: leaks are looked for in life.bats, reports go to stderr.
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=0:allocator_may_return_null=1:quarantine_size_mb=8
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export TSAN_OPTIONS=exitcode=66:suppressions=$LIB/tsan.supp
export LSAN_OPTIONS=suppressions=$LIB/lsan.supp:print_suppressions=0
export LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1

setup()
{
	TMP=$(realpath "$BATS_TEST_TMPDIR")
	MNT=$TMP/mnt
	LOG=$TMP/h5fs.log
	PARENT=
	cd "$TMP" || return
	mkdir "$MNT"
}

teardown()
{
	local failed=0

	cd "$TMP" || return
	[ -z "$PARENT" ] || h5fs_unmount || failed=1
	unmount_all_below "$TMP"
	if [ -s "$LOG" ] && { [ "$failed" -ne 0 ] || [ -z "${BATS_TEST_COMPLETED-}" ]; }; then
		echo "--- log"
		tail -n 60 "$LOG"
	fi
	return $failed
}

# ---- mounting ----

# h5fs_mount FILE [OPTION...] - mounts FILE on $MNT (OPTIONs as for -o) in the
# foreground, its messages going to $LOG, and returns once it serves.
h5fs_mount()
{
	local file=$1 o opts=()

	shift
	for o; do
		opts+=(-o "$o")
	done
	"${H5FS_RUN[@]}" "$H5FS" -f "${opts[@]}" "$file" "$MNT" \
		>>"$LOG" 2>&1 3>&- &
	PARENT=$!
	wait_for serves_or_dead "$MNT" "$PARENT"
	is_mounted "$MNT" || {
		wait "$PARENT"
		echo "mount failed with $?:"
		PARENT=
		cat "$LOG"
		return 1
	}
}

# Unmounts $MNT, waits for the program to end, and fails if it did not end well
# or a sanitizer has reported.
h5fs_unmount()
{
	local pid=$PARENT status=0

	PARENT=
	if is_mounted "$MNT"; then
		fusermount3 -u "$MNT" 2>/dev/null || umount -l "$MNT"
	fi
	wait_for_end "$pid" || {
		echo "h5fs (pid $pid) does not end; killing it"
		kill_tree "$pid"
		return 1
	}
	wait "$pid" || status=$?
	[ "$status" -eq 0 ] || echo "h5fs ended with $status"
	no_reports && [ "$status" -eq 0 ]
}

no_reports()
{
	refute grep -E -A 25 'ERROR: (Address|Leak)Sanitizer|WARNING: ThreadSanitizer|runtime error:' "$LOG"
}

# The daemon that serves, child of the process that mounts.
daemon_pid() { pgrep -P "${1:-$PARENT}" | head -n 1; }

kill_tree() # PID
{
	local child

	for child in $(pgrep -P "$1"); do
		kill -9 "$child" 2>/dev/null
	done
	kill -9 "$1" 2>/dev/null
	wait "$1" 2>/dev/null
	return 0
}

is_mounted() { awk -v d="$1" '$5 == d { f = 1 } END { exit !f }' /proc/self/mountinfo; }
not_mounted() { ! is_mounted "$1"; }
is_dead() { ! kill -0 "$1" 2>/dev/null; }
serves_or_dead() { { is_mounted "$1" && stat "$1/." >/dev/null 2>&1; } || is_dead "$2"; }
wait_for_end() { wait_for is_dead "$1"; }

unmount_all_below()
{
	local dir

	awk -v d="$1/" 'index($5, d) == 1 { print $5 }' /proc/self/mountinfo |
	while read -r dir; do
		fusermount3 -uz "$dir" 2>/dev/null || umount -l "$dir"
	done
}

# ---- waiting and comparing ----

# wait_for COMMAND... - until it succeeds, at most $WAIT seconds
wait_for()
{
	local end=$((SECONDS + WAIT))

	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || {
			echo "waited ${WAIT} s in vain for: $*"
			return 1
		}
		sleep 0.05
	done
}

assert_eq() # HAVE WANT [WHAT]
{
	[ "$1" = "$2" ] || {
		printf '%s is:\n%s\nwant:\n%s\n' "${3:-value}" "$1" "$2"
		return 1
	}
}

# refute COMMAND... - it fails (a bare `!` does not fail a test)
refute() { ! "$@"; }

assert_match() # TEXT PATTERN (a glob)
{
	# shellcheck disable=SC2053
	[[ $1 == $2 ]] || {
		printf 'text:\n%s\ndoes not match: %s\n' "$1" "$2"
		return 1
	}
}

# ls_is DIR NAME... - the entries of DIR, all of them
ls_is()
{
	local dir=$1 have want

	shift
	have=$(ls -A "$dir" | sort)
	want=$(printf '%s\n' "$@" | sort)
	assert_eq "$have" "$want" "ls $dir"
}

# assert_errno NAME CALL PATH [ARG...] - the system call fails with just that
assert_errno()
{
	local want=$1

	shift
	assert_eq "$("$PYTHON" "$LIB/syscall.py" "$@")" "$want" "$*"
}

# xattr PATH NAME - the value
xattr() { getfattr --absolute-names --only-values -n "$2" "$1"; }
assert_xattr() { assert_eq "$(xattr "$1" "$2")" "$3" "$2 of $1"; }
no_xattr() { assert_errno ENODATA getxattr "$1" "$2"; }

# metric NAME - its number in .h5fs/metrics. A snapshot is kept for a second:
# metric_settled asks until two agree.
metric() { awk -v n="$1" '$1 == n { print $2 }' "$MNT/.h5fs/metrics"; }
metric_settled()
{
	local a b

	a=$(metric "$1")
	while sleep 1.1; do
		b=$(metric "$1")
		[ "$a" != "$b" ] || break
		a=$b
	done
	echo "$b"
}

# ---- files ----

# h5_make FILE DATASET... - see h5make.py
h5_make() { "$PYTHON" "$LIB/h5make.py" "$@"; }

# py [ARG...] <<'PY' - Python with h5py as h5py, numpy as np, sys, os, and MNT
py()
{
	{ printf 'import os, sys\nimport h5py\nimport numpy as np\nsys.path.insert(0, %s)\nMNT = %s\n' \
		"'$LIB'" "'$MNT'"; cat; } >"$TMP/script.py"
	"$PYTHON" "$TMP/script.py" "$@"
}

# assert_same_pixels PNG FILE DATASET [INDEX...] - the picture's pixels are the
# stored values
assert_same_pixels() { "$PYTHON" "$LIB/pixels.py" "$@"; }

# Under the thread sanitizer of older compilers the address space must not be
# laid out at random.
H5FS_RUN=()
if [[ $SANITIZE == *thread* ]] && setarch -R true 2>/dev/null; then
	H5FS_RUN=(setarch -R)
fi
