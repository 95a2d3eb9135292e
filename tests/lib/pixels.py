#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Are the pixels of a PNG the values of a dataset?

usage: pixels.py PNG FILE DATASET [INDEX...]

For unsigned integers and booleans, which a picture holds exactly.
"""
import sys

import h5py
import numpy as np
from png import decode


def main():
    png, path, name, *index = sys.argv[1:]
    have = decode(png)
    with h5py.File(path, 'r', locking=False) as f:
        want = f[name][tuple(int(i) for i in index)]
    if want.ndim == 2:
        want = want[:, :, None]
    if have.shape != want.shape:
        sys.exit('%s is %s, want %s' % (png, have.shape, want.shape))
    wrong = np.argwhere(have.astype('u8') != want.astype('u8'))
    if len(wrong):
        y, x, c = wrong[0]
        sys.exit('%s: %d values are wrong, the first at y=%d x=%d c=%d: %d, want %d' % (
            png, len(wrong), y, x, c, have[y, x, c], want[y, x, c]))


main()
