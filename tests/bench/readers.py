#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Readers that are programs of their own, as they are where data is used. Each prints
samples a second, and ends with 1 if what it read is not what FILE holds.

usage: readers.py pillow TOP FILE COUNT SEED     decode random PNGs under TOP
       readers.py torch TOP FILE SEED            an epoch of ImageFolder(TOP)
       readers.py mmap ARRAY FILE SEED           all rows of an .npy, in random order
       readers.py h5py FILE SECONDS SEED         random samples, for so long
       readers.py order FILE                     all samples, one after another
"""
import random
import sys
import time

import h5py
import numpy as np

CHECKED = 5


def check(file, got):
    """got: pixels by row."""
    with h5py.File(file) as f:
        for i, pixels in got.items():
            if not np.array_equal(f["images"][i], pixels):
                sys.exit(f"row {i} is not what {file} holds")


def rows_of(file):
    with h5py.File(file) as f:
        return len(f["images"])


def pillow(top, file, count, seed):
    from PIL import Image
    picks = list(range(rows_of(file)))
    random.Random(int(seed)).shuffle(picks)
    picks = picks[:int(count)]
    seen = {}
    start = time.perf_counter()
    for i in picks:
        with Image.open(f"{top}/{i:06d}.png") as im:
            pixels = np.asarray(im)
        if len(seen) < CHECKED:
            seen[i] = pixels
    took = time.perf_counter() - start
    check(file, seen)
    return len(picks) / took


def torch(top, file, seed):
    import os
    import torch as t
    from torchvision import transforms
    from torchvision.datasets import ImageFolder
    t.manual_seed(int(seed))
    t.set_num_threads(1)
    folder = ImageFolder(top, transforms.ToTensor())
    with h5py.File(file) as f:
        labels = f["labels"][:]
    for path, c in folder.samples:
        row = int(os.path.basename(path).split(".")[0])
        if int(folder.classes[c]) != labels[row]:
            sys.exit(f"{path}: labelled {folder.classes[c]}")
    if len(folder) != len(labels):
        sys.exit(f"{top}: {len(folder)} samples of {len(labels)}")
    loader = t.utils.data.DataLoader(folder, 64, shuffle=True, num_workers=2)
    n = 0
    start = time.perf_counter()
    for pixels, _ in loader:
        n += len(pixels)
    took = time.perf_counter() - start
    seen = {}
    for path, c in folder.samples[::len(folder) // CHECKED]:
        row = int(os.path.basename(path).split(".")[0])
        seen[row] = np.asarray(folder.loader(path))
    check(file, seen)
    return n / took


def mmap(array, file, seed):
    a = np.load(array, mmap_mode="r")
    picks = list(range(len(a)))
    random.Random(int(seed)).shuffle(picks)
    start = time.perf_counter()
    for i in picks:
        np.array(a[i])
    took = time.perf_counter() - start
    check(file, {i: np.array(a[i]) for i in picks[-CHECKED:]})
    return len(picks) / took


def random_h5py(file, seconds, seed):
    done = 0
    with h5py.File(file) as f:
        d = f["images"]
        picks = list(range(len(d)))
        random.Random(int(seed)).shuffle(picks)
        start = time.perf_counter()
        for i in picks:
            d[i]
            done += 1
            if time.perf_counter() - start > float(seconds):
                break
        return done / (time.perf_counter() - start)


def order(file):
    with h5py.File(file) as f:
        d = f["images"]
        n = len(d)
        start = time.perf_counter()
        for i in range(n):
            d[i]
        return n / (time.perf_counter() - start)


READERS = {"pillow": pillow, "torch": torch, "mmap": mmap, "h5py": random_h5py,
           "order": order}

if __name__ == "__main__":
    print(READERS[sys.argv[1]](*sys.argv[2:]))
