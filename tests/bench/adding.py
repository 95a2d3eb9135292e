# SPDX-License-Identifier: MIT
"""Rows A1 to A4: what adding data costs. Pictures copied into a mount, beside the same
files copied to the local file system, h5py adding them one at a time or in batches,
and HDF5 without a journal; small arrays as .npy files."""
import contextlib
import os
import shutil
import subprocess
import time

import h5py
import numpy as np
from PIL import Image

from data import CHUNK
from model import Group, Ratio, Step
from places import LIMIT, Wrong, daemon_of, memory_of

BATCH = 512


def source(b):
    return b.data.to_append() + "/png"


def pixels(b):
    n = b.scale.appended
    return np.fromfile(b.data.to_append() + "/rows", "u1").reshape(
        n, 64, 64, 3)


def new_set(path):
    with h5py.File(path, "w") as f:
        f.create_dataset("images", (0, 64, 64, 3), "u1",
                         maxshape=(None, 64, 64, 3), chunks=(CHUNK, 64, 64, 3),
                         compression="gzip", compression_opts=4)


@contextlib.contextmanager
def fresh(b):
    """A file with an empty set, gone afterwards; nothing is still to be written."""
    path = b.work + "/added.h5"
    new_set(path)
    os.sync()
    yield path
    os.remove(path)


def check_set(b, path, any_order):
    """All rows are there; names are numbered as closed, so cp's order."""
    want = pixels(b)
    with h5py.File(path) as f:
        have = f["images"][:]
    if any_order:
        have = have[np.lexsort(have.reshape(len(have), -1)[:, :16].T)]
        want = want[np.lexsort(want.reshape(len(want), -1)[:, :16].T)]
    if not np.array_equal(have, want):
        raise Wrong(f"{path}: not the rows that were added")


def timed(run):
    start = time.monotonic()
    run()
    return time.monotonic() - start


def copy(b, to):
    """In one call, in the directory's order, as people do."""
    subprocess.run(["cp", "-r", source(b) + "/.", to], check=True,
                   timeout=LIMIT)


def commit(b):
    subprocess.run([b.h5fs, "commit", b.mnt], check=True, timeout=LIMIT,
                   stdout=subprocess.DEVNULL)


# ---- A1, A3: copied ----

def copy_local(b):
    source(b)
    os.sync()
    to = b.work + "/copy"
    took = timed(lambda: copy(b, to))
    shutil.rmtree(to)
    return {"local": b.scale.appended / took}


def copy_in(b):
    n = b.scale.appended
    source(b)
    with fresh(b) as path:
        with b.h5fs_mounted(path, ""):
            copying = timed(lambda: copy(b, b.mnt + "/images/"))
            rest = timed(lambda: commit(b))
        check_set(b, path, any_order=True)
        return {"cp": n / copying, "cp and commit": n / (copying + rest),
                "size": os.path.getsize(path)}


def h5py_single(b):
    names = sorted(os.listdir(source(b)))

    def run():
        with h5py.File(path, "a") as f:
            d = f["images"]
            for name in names:
                d.resize(len(d) + 1, 0)
                with Image.open(f"{source(b)}/{name}") as im:
                    d[-1] = np.asarray(im)
    with fresh(b) as path:
        took = timed(run)
        check_set(b, path, any_order=False)
    return {"h5py": len(names) / took}


# ---- A2: the commit alone ----

def commit_alone(b):
    source(b)
    with fresh(b) as path:
        with b.h5fs_mounted(path, "commit=manual") as p:
            copy(b, b.mnt + "/images/")
            os.sync()
            took = timed(lambda: commit(b))
            peak = memory_of(daemon_of(p), "VmHWM")
        check_set(b, path, any_order=True)
    return {"commit": b.scale.appended / took, "commit's peak": peak}


def plain(b):
    rows = b.data.to_append() + "/rows"
    with fresh(b) as path:
        out = subprocess.run([f"{b.tools}/plain_write", path, "images", rows],
                             check=True, text=True, timeout=LIMIT,
                             stdout=subprocess.PIPE).stdout
        check_set(b, path, any_order=False)
    return {"plain": b.scale.appended / float(out)}


def h5py_batches(b):
    rows = pixels(b)

    def run():
        with h5py.File(path, "a") as f:
            d = f["images"]
            d.resize(len(rows), 0)
            for i in range(0, len(rows), BATCH):
                d[i:i + BATCH] = rows[i:i + BATCH]
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)
    with fresh(b) as path:
        took = timed(run)
        check_set(b, path, any_order=False)
        return {"batches": len(rows) / took, "once": os.path.getsize(path)}


def pictures():
    return Group("append", (
        Step(copy_local),
        Step(copy_in),
        Step(h5py_single),
        Step(commit_alone),
        Step(plain),
        Step(h5py_batches),
    ), (
        Ratio("A1", "cp of PNGs and commit / h5py, one at a time",
              "cp and commit", ("h5py",), "> 1"),
        Ratio("A1", "cp of PNGs / cp to the local file system", "cp",
              ("local",), ">= 0.333"),
        Ratio("A2", "commit alone / plain HDF5 without a journal", "commit",
              ("plain",), ">= 0.667"),
        Ratio("A2", "commit alone / h5py, batches of 512", "commit",
              ("batches",), "> 1"),
        Ratio("A3", "size of the file / written at once", "size", ("once",),
              "<= 1.05"),
    ))


# ---- A4: small arrays ----

SPLITS = (("train", 0.65), ("val", 0.15), ("test", 0.20))
BATCHES = 20
SINGLES = 20            # one array in so many is copied as a file of its own
SHAPE = (20, 20, 5)


def make_arrays(b, top):
    rng = np.random.default_rng(2)
    os.makedirs(top + "/single")
    each = b.scale.arrays // BATCHES
    for i in range(BATCHES):
        np.save(f"{top}/{i:03d}.npy", rng.random((each, *SHAPE), np.float32))
    for i in range(b.scale.arrays // SINGLES):
        np.save(f"{top}/single/s{i:06d}.npy", rng.random(SHAPE, np.float32))


def splits_of_batches():
    at = 0
    for name, share in SPLITS:
        for _ in range(round(BATCHES * share)):
            yield name, f"{at:03d}.npy"
            at += 1


def copy_arrays(b):
    n, file = b.scale.arrays, b.work + "/arrays.h5"
    top = b.work + "/arrays"
    make_arrays(b, top)
    with h5py.File(file, "w") as f:
        for name, _ in SPLITS:
            f.create_dataset(f"{name}/samples", (0, *SHAPE), "f4",
                             maxshape=(None, *SHAPE), chunks=(CHUNK, *SHAPE))

    def batches():
        for name, batch in splits_of_batches():
            shutil.copyfile(f"{top}/{batch}", f"{b.mnt}/{name}/samples/{batch}")
        commit(b)

    def singles():
        subprocess.run(["cp", "-r", top + "/single/.",
                        b.mnt + "/train/samples/"], check=True, timeout=LIMIT)
        commit(b)
    with b.h5fs_mounted(file, "") as p:
        took = timed(batches), timed(singles)
        peak = memory_of(daemon_of(p), "VmHWM")
    check_arrays(file, top, n)
    os.remove(file)
    shutil.rmtree(top)
    return {"batches": n / took[0], "singles": n // SINGLES / took[1],
            "peak": peak, "limit": (256 + 64) << 20}


def check_arrays(file, top, n):
    with h5py.File(file) as f:
        have = sum(len(f[name]["samples"]) for name, _ in SPLITS)
        first = np.load(f"{top}/000.npy")
        if have != n + n // SINGLES or not np.array_equal(
                f["train/samples"][:len(first)], first):
            raise Wrong(f"{file}: not the arrays that were added")


def dataset_each(b):
    n = b.scale.arrays // SINGLES
    data = np.random.default_rng(3).random(SHAPE, np.float32)
    file = b.work + "/each.h5"

    def run():
        with h5py.File(file, "w") as f:
            for i in range(n):
                f.create_dataset(f"s{i:06d}", data=data)
    took = timed(run)
    os.remove(file)
    return {"each": n / took}


def small_arrays():
    return Group("arrays", (
        Step(copy_arrays, rounds={"full": 2}, beside=True),
        Step(dataset_each, rounds={"full": 2}, beside=True),
    ), (
        Ratio("A4", "arrays as .npy batches / h5py, a dataset each", "batches",
              ("each",)),
        Ratio("A4", "arrays as single .npy files / h5py, a dataset each",
              "singles", ("each",)),
        Ratio("A4", "daemon's memory meanwhile / cache= and 64 MB", "peak",
              ("limit",), "<= 1.0"),
    ))


GROUPS = (pictures(), small_arrays())
