#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The tools that people have, over a file of every layout in real use: no error
# but EIO where a filter is missing, and what was copied is what was read.
load ../lib/mount

# only_eio FILE - what a tool complained of: nothing, or EIO where it may
only_eio()
{
	[ -s "$1" ] || return 0
	[ "$broken" = broken ] || { cat "$1"; return 1; }
	refute grep -vE 'Input/output error|Exiting with failure|failed verification|^rsync error: |^WARNING: |^$' "$1"
}

# same DIR - DIR is what was read, but for what could not be
same()
{
	"$PYTHON" "$LIB/tree.py" "$1" read | diff <(grep -v '^e ' read) - || { echo "$1 differs"; return 1; }
}

# check_file FILE - in a function that is tried, set -e does not hold
check_file()
{
	local broken=whole status=0

	h5fs_mount "$1" || return
	rm -rf cp tar rsync export
	mkdir tar rsync
	"$PYTHON" "$LIB/tree.py" "$MNT" >read || return
	refute grep -v ' EIO$' <(grep '^e ' read) || return
	! grep -q '^e' read || broken=broken
	find "$MNT" >found 2>err || return
	refute grep -E '\.by-class(/|$)|/\.h5fs|/\.attrs|/@' found || return
	[ ! -s err ] || { cat err; return 1; }
	ls -lR "$MNT" >/dev/null 2>err
	only_eio err || return
	getfattr --absolute-names -hdR "$MNT" >/dev/null 2>err
	[ ! -s err ] || { cat err; return 1; }
	cp -a "$MNT" cp 2>err
	only_eio err && same cp || return
	tar -C "$MNT" -cf t.tar . 2>err
	only_eio err || return
	tar -C tar -xf t.tar && same tar || return
	rsync -a "$MNT/" rsync 2>err
	only_eio err && same rsync || return
	"$H5FS" export "$1" export >out 2>err || status=$?
	assert_eq "$status" "$([ "$broken" = whole ] && echo 0 || echo 1)" "exit status of export ($(cat err))" || return
	same export || return
	h5fs_unmount
}

# check_files GLOB... - all of them are tried, those that fail are named
check_files()
{
	local pattern file bad=0 n=0

	for pattern; do
		for file in "$LAYOUTS"/$pattern; do
			case ${file##*/} in
			NEG_* | *.bin | huge_sparse.h5) continue ;;
			esac
			n=$((n + 1))
			check_file "$file" || {
				echo "=== ${file##*/}"
				bad=$((bad + 1))
				[ -z "$PARENT" ] || h5fs_unmount
			}
		done
	done
	echo "$n files, $bad bad"
	[ "$n" -gt 0 ] || return
	[ "$bad" -eq 0 ]
}

@test "layout files: digits, a to e" { check_files '[0-9a-e]*'; }
@test "layout files: f to l" { check_files '[f-l]*'; }
@test "layout files: m to r" { check_files '[m-r]*'; }
@test "layout files: s to z" { check_files '[s-z]*'; }

@test "a file of ten million pictures of 10 KB lists at once, and its samples are read" {
	h5fs_mount "$LAYOUTS/huge_sparse.h5"
	assert_eq "$(ls -U "$MNT/images" | head -n 3 | tail -n 1)" 000002.png
	[ "$(wc -c <"$MNT/images/9999999.png")" -gt 150000 ]
}
