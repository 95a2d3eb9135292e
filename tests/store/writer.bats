#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What the writer leaves is what h5py would have written (against_h5py.py).

setup()
{
	DIR=$(mktemp -d)
}

teardown()
{
	rm -rf "$DIR"
}

like_h5py()
{
	"$PYTHON" -B "$BATS_TEST_DIRNAME/against_h5py.py" "$DRIVE" "$DIR" "$@"
}

@test "rows of every type, not packed" { like_h5py plain; }
@test "rows of every type, gzip and shuffle" { like_h5py gzip; }
@test "rows of every type, lzf" { like_h5py lzf; }
@test "rows of every type, with checksums" { like_h5py fletcher32; }
@test "rows through a filter of the library" { like_h5py scaleoffset; }
@test "chunks of every shape, on every axis" { like_h5py shapes; }
@test "pictures, by the batch and one by one" { like_h5py images; }
@test "new datasets, groups and links; moved and removed" { like_h5py create; }
@test "attributes" { like_h5py attributes; }
@test "all values replaced" { like_h5py replace; }
@test "a fixed dataset that grows" { like_h5py grow; }
