#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes a small data set to try h5fs on: pictures of shapes with their classes, a scan of a ball, a table, some text.

usage: make-sample.py FILE.h5 [PICTURES=240]
"""
import sys

import h5py
import numpy as np

SIZE = 64
SHAPES = ['circle', 'square', 'triangle', 'cross']
PAPER = [(250, 247, 240), (232, 240, 250), (240, 250, 236), (252, 238, 240), (40, 44, 52)]
INK = [(214, 69, 65), (38, 110, 180), (46, 139, 87), (230, 150, 30), (126, 70, 160)]


def inside(shape, x, y, r):
    """How far in a point is: positive inside, in pixels."""
    if shape == 'circle':
        return r - np.hypot(x, y)
    if shape == 'square':
        return .85 * r - np.maximum(abs(x), abs(y))
    if shape == 'triangle':
        return np.minimum(r * .5 - y, np.minimum(y * .5 + x * .866, y * .5 - x * .866) + r * .5)
    arm = r * .3
    return np.maximum(np.minimum(arm - abs(x), r - abs(y)), np.minimum(arm - abs(y), r - abs(x)))


def picture(rng, shape):
    """A shape on paper with a soft shadow, turned and placed at random, and its mask."""
    y, x = np.mgrid[0:SIZE, 0:SIZE].astype('f8')
    cx, cy = rng.uniform(24, 40, 2)
    r, turn = rng.uniform(14, 21), rng.uniform(-.4, .4)

    def at(dx, dy):
        u, v = x - cx - dx, y - cy - dy
        return inside(shape, u * np.cos(turn) + v * np.sin(turn), v * np.cos(turn) - u * np.sin(turn), r)

    paper, ink = np.array(PAPER[rng.integers(len(PAPER))], 'f8'), np.array(INK[rng.integers(len(INK))], 'f8')
    light = (1.08 - .16 * (x + y) / (2 * SIZE))[..., None]
    shadow = np.clip(at(2.5, 3.5) / 5 + .5, 0, 1)[..., None]
    cover = np.clip(at(0, 0) + .5, 0, 1)[..., None]
    a = paper * light * (1 - .35 * shadow)
    a = a * (1 - cover) + ink * light * cover
    a += rng.normal(0, 2, a.shape)
    return np.clip(a, 0, 255).astype('u1'), at(0, 0) > 0


def row_set(group, rng, n, source):
    labels = rng.permutation(np.arange(n) % len(SHAPES)).astype('i4')
    made = [picture(rng, SHAPES[k]) for k in labels]
    group.create_dataset('images', data=np.stack([p for p, _ in made]), maxshape=(None, SIZE, SIZE, 3),
                         chunks=(min(64, n), SIZE, SIZE, 3), compression='gzip', compression_opts=4)
    group.create_dataset('masks', data=np.stack([m for _, m in made]), maxshape=(None, SIZE, SIZE),
                         chunks=(min(64, n), SIZE, SIZE), compression='gzip')
    group.create_dataset('labels', data=labels, maxshape=(None,))
    group.attrs['label_names'] = SHAPES
    group.attrs['source'] = source


def ball(n=48):
    """A hollow ball with a bright core, as a scanner would see it: 12 bits."""
    z, y, x = (np.mgrid[0:n, 0:n, 0:n] - (n - 1) / 2) / (n / 2)
    r = np.sqrt(x * x + y * y + z * z)
    return (200 + 1800 * (abs(r - .8) < .08) + 3000 * np.exp(-(r / .25) ** 2)).astype('u2')


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 240
    rng = np.random.default_rng(2026)
    with h5py.File(sys.argv[1], 'w') as f:
        f.attrs['title'] = 'Shapes on paper'
        f.attrs['img_size'] = SIZE
        f.attrs['num_channels'] = 3
        row_set(f.create_group('train'), rng, count, 'drawn by make-sample.py')
        row_set(f.create_group('val'), rng, count // 4, 'drawn by make-sample.py')
        scan = f.create_dataset('scan/volume', data=ball(), chunks=(8, 48, 48), compression='gzip', shuffle=True)
        scan.attrs['spacing'] = [1.5, 0.8, 0.8]
        scan.attrs['unit'] = 'mm'
        f['scan/patient'] = 'P001'
        table = np.zeros(5, [('epoch', 'i4'), ('loss', 'f8'), ('note', 'S12')])
        table['epoch'] = np.arange(5)
        table['loss'] = 2.3 * .6 ** np.arange(5)
        table['note'] = [b'start', b'', b'', b'lower rate', b'']
        f['training_log'] = table
        f['mean'] = f['train/images'][...].mean(axis=(0, 1, 2))
        f['readme'] = 'Shapes on paper: four classes, drawn for a first look at h5fs.\n'
        f['latest'] = h5py.SoftLink('/train')


main()
