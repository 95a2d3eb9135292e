#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes pictures to copy in, and says what they hold.

usage: pictures.py make FILE MODE WxH SEED [KEY=VALUE...]
       pictures.py same FILE H5 DATASET INDEX

MODE  as Pillow's: 1 L I;16 RGB RGBA P. P is a mask: indices 0..4 with colours.
KEY   quality (JPEG), cut (bytes that are cut off the end), opaque (RGBA)
same  succeeds when row INDEX of DATASET has just FILE's pixels
"""
import os
import sys

import h5py
import numpy as np
from PIL import Image


def pixels(mode, w, h, seed, opaque):
    rng = np.random.default_rng(seed)
    if mode == '1':
        return Image.fromarray(rng.integers(0, 2, (h, w)).astype(bool))
    if mode == 'I;16':
        return Image.fromarray(rng.integers(0, 65536, (h, w)).astype('u2'))
    if mode == 'P':
        im = Image.fromarray(rng.integers(0, 5, (h, w)).astype('u1'), 'P')
        im.putpalette([c for i in range(256) for c in (i * 40 % 256, i * 90 % 256, i)])
        return im
    n = {'L': 1, 'RGB': 3, 'RGBA': 4}[mode]
    a = rng.integers(0, 256, (h, w, n)).astype('u1')
    if n == 4 and opaque:
        a[..., 3] = 255
    return Image.fromarray(a[..., 0] if n == 1 else a, mode)


def make(name, mode, size, seed, *keys):
    k = dict(x.partition('=')[::2] for x in keys)
    w, h = map(int, size.split('x'))
    im = pixels(mode, w, h, int(seed), 'opaque' in k)
    im.save(name, **({'quality': int(k['quality'])} if 'quality' in k else {}))
    if 'cut' in k:
        os.truncate(name, os.path.getsize(name) - int(k['cut']))


def same(name, h5, dataset, index):
    with h5py.File(h5, 'r') as f:
        have = f[dataset][int(index)]
    want = np.array(Image.open(name))
    if have.shape != want.shape and have.shape[-1:] == (1,):
        have = have[..., 0]
    if have.shape != want.shape or (have != want).any():
        sys.exit('%s[%s] of %s %s is not %s of %s %s' % (
            dataset, index, have.shape, have.dtype, name, want.shape, want.dtype))


if __name__ == '__main__':
    {'make': make, 'same': same}[sys.argv[1]](*sys.argv[2:])
