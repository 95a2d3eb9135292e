#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The same pictures as a folder of PNGs and as HDF5 in three storages.

usage: mkdata.py DIR [N=20000]

Writes png/000000.png ..., contiguous.h5, chunk1.h5 (one picture a chunk) and gzip64.h5 (64 a chunk, gzip 4), dataset
`images` (N,64,64,3), smooth enough to compress as photographs do, and ten.h5: (10,000,000,32,32,3), nearly all of it
unallocated.
"""
import os
import sys

import h5py
import numpy as np
from PIL import Image

SIZE = 64


def block(rng, n):
    """Coarse noise, enlarged, with fine noise on top."""
    coarse = rng.integers(30, 220, (n, 9, 9, 3)).astype('f4')
    at = np.linspace(0, 8, SIZE, endpoint=False)
    i, t = at.astype(int), (at % 1).astype('f4')
    rows = coarse[:, i] * (1 - t)[:, None, None] + coarse[:, i + 1] * t[:, None, None]
    a = rows[:, :, i] * (1 - t)[:, None] + rows[:, :, i + 1] * t[:, None]
    return np.clip(a + rng.normal(0, 3, a.shape), 0, 255).astype('u1')


def main():
    top, n = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    os.makedirs(top + '/png', exist_ok=True)
    rng = np.random.default_rng(1)
    shape = (n, SIZE, SIZE, 3)
    with h5py.File(top + '/contiguous.h5', 'w') as a, h5py.File(top + '/chunk1.h5', 'w') as b, \
            h5py.File(top + '/gzip64.h5', 'w') as c:
        sets = [a.create_dataset('images', shape, 'u1'),
                b.create_dataset('images', shape, 'u1', chunks=(1, SIZE, SIZE, 3)),
                c.create_dataset('images', shape, 'u1', chunks=(64, SIZE, SIZE, 3), compression='gzip',
                                 compression_opts=4)]
        for start in range(0, n, 1024):
            x = block(rng, min(1024, n - start))
            for d in sets:
                d[start:start + len(x)] = x
            for k, picture in enumerate(x):
                Image.fromarray(picture).save('%s/png/%06d.png' % (top, start + k), compress_level=4)
    with h5py.File(top + '/ten.h5', 'w') as f:
        f.create_dataset('images', (10_000_000, 32, 32, 3), 'u1', chunks=(64, 32, 32, 3), compression='gzip')


main()
