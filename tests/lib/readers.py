#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Many processes read samples of a mounted dataset at random and compare every byte with what they must be.

usage: readers.py DIR FILE DATASET READERS SECONDS

The kernel is told to drop what was read, so that each read is answered by the file system. Beside the samples: stat, the
attributes, ranges of the .npy, slices, a listing. Prints how many reads there were; exit 1 and the first wrong one otherwise.
"""
import multiprocessing
import os
import random
import sys
import time

import h5py
import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from png import decode


def drop(path):
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def sample(top, want, rng):
    i = rng.randrange(len(want))
    path = '%s/%06d.png' % (top, i)
    have = decode(path)
    drop(path)
    if not np.array_equal(have.reshape(want[i].shape), want[i]):
        return 'wrong pixels in %s' % path


def rows(top, want, rng):
    path = top + '.npy'
    a = np.load(path, mmap_mode='r')
    i = rng.randrange(len(want))
    ok = np.array_equal(a[i:i + 3], want[i:i + 3])
    del a
    drop(path)
    if not ok:
        return 'wrong values in %s at %d' % (path, i)


def part(top, want, rng):
    i = rng.randrange(len(want))
    path = '%s[%d:%d,::2].npy' % (top, i, i + 2)
    have = np.load(path)
    if not np.array_equal(have, want[i:i + 2, ::2]):
        return 'wrong values in %s' % path


def names(top, want, rng):
    i = rng.randrange(len(want))
    path = '%s/%06d.png' % (top, i)
    if os.stat(path).st_size < want[i].nbytes:
        return 'wrong size of %s' % path
    if os.getxattr(path, 'user.h5fs.path') == b'':
        return 'no path of %s' % path


def listing(top, want, rng):
    if len(os.listdir(top)) != len(want):
        return 'wrong listing of %s' % top


KINDS = [sample] * 40 + [rows] * 8 + [part] * 8 + [names] * 8 + [listing]


def reader(seed, top, want, seconds, answers):
    rng = random.Random(seed)
    end = time.monotonic() + seconds
    n, wrong = 0, None
    try:
        while wrong is None and time.monotonic() < end:
            wrong = rng.choice(KINDS)(top, want, rng)
            n += 1
    except Exception as e:
        wrong = '%s: %s' % (type(e).__name__, e)
    answers.put((n, wrong))


def main():
    top, path, name, readers, seconds = sys.argv[1:]
    with h5py.File(path, 'r', locking=False) as f:
        want = f[name][...]
    answers = multiprocessing.Queue()
    workers = [multiprocessing.Process(target=reader, args=(k, top, want, float(seconds), answers))
               for k in range(int(readers))]
    for w in workers:
        w.start()
    got = [answers.get() for _ in workers]
    for w in workers:
        w.join()
    wrong = [x for _, x in got if x]
    for x in wrong:
        print(x)
    print(sum(n for n, _ in got), 'reads')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
