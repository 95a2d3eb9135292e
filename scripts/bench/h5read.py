#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Random samples a second through h5py, with a chunk cache as large as h5fs'.

usage: h5read.py FILE COUNT SEED
"""
import random
import sys
import time

import h5py

path, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with h5py.File(path, 'r', rdcc_nbytes=256 << 20, rdcc_nslots=100003) as f:
    d = f['images']
    rng = random.Random(seed)
    picks = [rng.randrange(len(d)) for _ in range(count)]
    start = time.perf_counter()
    for i in picks:
        d[i]
    print('%.0f' % (count / (time.perf_counter() - start)))
