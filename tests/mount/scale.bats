#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Ten million samples cost what ten do.
load ../lib/mount

rss_kb() { awk '/^VmRSS/ { print $2 }' "/proc/$(daemon_pid)/status"; }

make_ten_million()
{
	h5_make d.h5 images:u8:10000000x32x32x3:sparse:chunk=64x32x32x3:gzip
}

@test "any sample is there at once, and no other" {
	make_ten_million
	h5fs_mount d.h5
	for i in 000000 000001 999999 1000000 5000000 9999999; do
		assert_eq "$(stat -c %s "$MNT/images/$i.png")" "$(stat -c %s "$MNT/images/000000.png")"
	done
	for i in 10000000 0000001 -00001 00000a 99999999999999999999; do
		assert_errno ENOENT stat "$MNT/images/$i.png"
	done
	assert_same_pixels "$MNT/images/9999999.png" d.h5 images 9999999
}

@test "a listing begins at once and resumes after any offset" {
	make_ten_million
	h5fs_mount d.h5
	assert_eq "$(ls -U "$MNT/images" | head -n 2 | tail -n 1)" 000001.png
	py <<'PY'
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.opendir.restype = ctypes.c_void_p
libc.telldir.restype = ctypes.c_long
libc.telldir.argtypes = libc.closedir.argtypes = libc.readdir.argtypes = [ctypes.c_void_p]
libc.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]
class Dirent(ctypes.Structure):
    _fields_ = [('ino', ctypes.c_uint64), ('off', ctypes.c_int64), ('len', ctypes.c_uint16), ('type', ctypes.c_uint8),
                ('name', ctypes.c_char * 256)]
libc.readdir.restype = ctypes.POINTER(Dirent)
d = libc.opendir((MNT + '/images').encode())
def names(n):
    return [libc.readdir(d).contents.name for _ in range(n)]
seen, marks = [], {}
for k in range(3000):
    marks[k] = libc.telldir(d)
    seen += names(1)
assert seen[2:] == [b'%06d.png' % i for i in range(2998)]
for k in (2999, 5, 1700, 2):
    libc.seekdir(d, marks[k])
    assert names(50) == [b'%06d.png' % i for i in range(k - 2, k + 48)], k
libc.closedir(d)
PY
}

@test "memory does not grow with what is listed, stat-ed and read" {
	make_ten_million
	h5fs_mount d.h5 cache=8M
	ls -U "$MNT/images" | head -n 100 >/dev/null
	before=$(rss_kb)
	assert_eq "$(ls -U "$MNT/images" | head -n 300000 | tail -n 1)" 299999.png
	assert_eq "$(find "$MNT/images" -printf '%s\n' | head -n 100000 | sort -u | wc -l)" 2
	for i in $(seq 1000000 9001 1900000); do
		cat "$MNT/images/$i.png" >/dev/null
	done
	after=$(rss_kb)
	echo "before $before KB, after $after KB"
	# a sanitizer keeps freed memory for a while
	[ $((after - before)) -lt $(((${SANITIZE:+64} + 32) * 1024)) ]
	[ -n "$SANITIZE" ] || [ "$after" -lt $(((64 + 8) * 1024)) ]
}

@test "a group of twenty thousand datasets lists, each is found" {
	py <<'PY'
with h5py.File('d.h5', 'w', libver='latest') as f:
    g = f.create_group('g')
    for i in range(20000):
        g.create_dataset('d%05d' % i, data=i)
PY
	h5fs_mount d.h5
	assert_eq "$(ls -U "$MNT/g" | wc -l)" "$(ls -U "$MNT/g" | sort -u | wc -l)"
	assert_eq "$(ls -U "$MNT/g" | grep -c 'npy$')" 20000
	py <<'PY'
assert int(np.load(MNT + '/g/d12345.npy')) == 12345
PY
}
