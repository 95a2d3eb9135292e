#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# A picture of more than 2 GiB.
load ../lib/mount

@test "a picture over 2 GiB has its exact size, and is a PNG through and through" {
	free=$(awk '/MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)
	[ "$free" -ge 8 ] || skip "needs 8 GiB of memory"
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    d = f.create_dataset('image', (26800, 26800, 3), 'u1', chunks=(100, 26800, 3))
    d.attrs['CLASS'] = np.bytes_('IMAGE')
    d[26799, 26799] = (1, 2, 3)
    d[15000, 7] = (9, 8, 7)
PY
	h5fs_mount d.h5
	[ "$(stat -c %s "$MNT/image.png")" -gt 2154000000 ]
	assert_match "$(file -b "$MNT/image.png")" '*26800 x 26800, 8-bit/color RGB*'
	py <<'PY'
import struct, zlib
z, out, idats = zlib.decompressobj(), 0, 0
seen = {}
want = {15000 * 80401 + 1 + 21: b'\x09\x08\x07', 26800 * 80401 - 3: b'\x01\x02\x03'}
with open(MNT + '/image.png', 'rb') as f:
    assert f.read(8) == b'\x89PNG\r\n\x1a\n'
    while True:
        n, kind = struct.unpack('>I4s', f.read(8))
        crc, left = zlib.crc32(kind), n
        assert n < 2**31
        while left:
            b = f.read(min(left, 1 << 24))
            left -= len(b)
            crc = zlib.crc32(b, crc)
            if kind == b'IDAT':
                raw = z.decompress(b)
                for at, v in want.items():
                    if out <= at and at + 3 <= out + len(raw):
                        seen[at] = raw[at - out:at - out + 3]
                out += len(raw)
        idats += kind == b'IDAT'
        assert struct.unpack('>I', f.read(4))[0] == crc, kind
        if kind == b'IEND':
            break
    assert f.read(1) == b'' and z.eof
assert out == 26800 * 80401, out
assert idats > 1
assert seen == want, seen
PY
}
