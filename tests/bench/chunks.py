# SPDX-License-Identifier: MIT
"""Rows 8 to 12: compressed chunks at random and in order, arrays, and memory."""
import os
import subprocess
import time

from model import Group, Ratio, Step
from places import (LIMIT, bring_in, check_rows, check_samples, daemon_of,
                    memory_of, sample, stored)

MIB = 1 << 20


def gzip(data):
    return data.gzip()


def gzip_large(data):
    return data.gzip_large()


# ---- 8, 11: compressed chunks at random, with a small cache ----

def first_epoch(b, n):
    """Every chunk is met; what is read is read here only (even rows)."""
    even = [i for i in range(0, n, 64)]
    even += b.shuffled(n, n // 8, seed=1, keep=lambda i: i % 2 == 0 and i % 64)
    b.read([sample(b.mnt + "/images", i) for i in even])


def later_epoch(name, make, n_of, side):
    def run(b):
        n = n_of(b.scale)
        cache = n * side * side * 3 // 10
        with b.h5fs_mounted(make(b.data), f"ro,cache={cache}", cold=True):
            top = b.mnt + "/images"
            first_epoch(b, n)
            odd = b.shuffled(n, min(n // 2, 5000), seed=2,
                             keep=lambda i: i % 2)
            figures = {name: b.read([sample(top, i) for i in odd], 1,
                                    len(odd) * stored(side))["rate"]}
            check_samples(top, make(b.data), odd[:5])
        return figures
    return run


def mmap_rows(b):
    n = b.scale.samples
    with b.h5fs_mounted(b.data.gzip(), f"ro,cache={n * 12288 // 10}",
                        cold=True):
        first_epoch(b, n)
        return {"mmap": b.python("readers.py", "mmap", b.mnt + "/images.npy",
                                 b.data.gzip(), b.round)}


def h5py_rows(name, make):
    def run(b):
        bring_in(make(b.data))
        return {name: b.python("readers.py", "h5py", make(b.data),
                               b.scale.seconds, b.round)}
    return run


def compressed():
    return Group("compressed", (
        Step(later_epoch("h5fs, 64", gzip, lambda s: s.samples, 64)),
        Step(later_epoch("h5fs, 256", gzip_large, lambda s: s.large, 256)),
        Step(mmap_rows),
        Step(h5py_rows("h5py, 64", gzip)),
        Step(h5py_rows("h5py, 256", gzip_large)),
    ), (
        Ratio("8", "random 64x64, gzip 4, small cache, later epoch / h5py",
              "h5fs, 64", ("h5py, 64",), ">= 10"),
        Ratio("8", "random 256x256, gzip 4, small cache, later epoch / h5py",
              "h5fs, 256", ("h5py, 256",), ">= 30"),
        Ratio("11", "np.load(mmap), all rows at random, gzip 4 / h5py", "mmap",
              ("h5py, 64",), ">= 10"),
    ))


# ---- 9: in order ----

def some_cores(count):
    have = sorted(os.sched_getaffinity(0))
    return ",".join(map(str, have[:count])) if len(have) >= count else None


def cat_seconds(b, cores, paths):
    names = b.work + "/names"
    with open(names, "w") as f:
        f.writelines(path + "\n" for path in paths)
    start = time.monotonic()
    subprocess.run(["taskset", "-c", cores, "xargs", "-d", "\\n", "-a", names,
                    "cat"], check=True, timeout=LIMIT,
                   stdout=subprocess.DEVNULL)
    return time.monotonic() - start


def cat_all(name, count, options="ro"):
    """Of the pictures, and of the array: each by a fresh mount."""
    def run(b):
        n, cores = b.scale.samples, some_cores(count)
        if not cores:
            return {}
        how = {"cores": cores, "cold": True}
        with b.h5fs_mounted(b.data.gzip(), options, **how):
            top = b.mnt + "/images"
            files = cat_seconds(b, cores, [sample(top, i) for i in range(n)])
            check_samples(top, b.data.gzip(), b.shuffled(n, 5))
        with b.h5fs_mounted(b.data.gzip(), options, **how):
            array = cat_seconds(b, cores, [b.mnt + "/images.npy"])
            check_rows(b.mnt + "/images.npy", b.data.gzip(), b.shuffled(n, 5))
        return {f"{name}, files": n / files, f"{name}, array": n / array}
    return run


def cat_floor(b):
    n, figures = b.scale.samples, {}
    for count in (1, 2):
        cores = some_cores(count)
        if cores:
            with b.null_mounted(n, stored(64), 1, cores=cores):
                figures[f"floor, {count}"] = n / cat_seconds(
                    b, cores, [sample(b.mnt + "/images", i) for i in range(n)])
    return figures


def h5py_order(b):
    bring_in(b.data.gzip())
    return {"h5py": b.python("readers.py", "order", b.data.gzip(),
                             cores=some_cores(1))}


def in_order():
    ratios = []
    for name, core, wanted in (("one core", 1, ">= 2"), ("two cores", 2, ">= 3"),
                               ("default mount", 2, "")):
        ratios += [
            Ratio("9", f"cat of all files, gzip 4, {name} / h5py in order",
                  f"{name}, files", ("h5py",), wanted),
            Ratio("9", f"cat of the .npy, gzip 4, {name} / h5py in order",
                  f"{name}, array", ("h5py",), wanted)]
    ratios += [Ratio("9", f"null FUSE floor, cat of all files, {name} / h5py "
                     "in order", f"floor, {k}", ("h5py",))
               for k, name in ((1, "one core"), (2, "two cores"))]
    return Group("order", (
        Step(cat_all("one core", 1)),
        Step(cat_all("two cores", 2)),
        Step(cat_all("default mount", 2, ""), beside=True),
        Step(cat_floor),
        Step(h5py_order),
    ), tuple(ratios))


# ---- 10: one array in order ----

HEADER = 128


def array_floor(b):
    size = b.scale.array + HEADER
    with b.null_mounted(1, 1, size, cold=True):
        return {"floor": b.read([b.mnt + "/images.npy"], 1, size)["bytes"]}


def array(name, options):
    def run(b):
        with b.h5fs_mounted(b.data.array(), options, cold=True):
            path = b.mnt + "/images.npy"
            figures = {name: b.read([path], 1, b.scale.array + HEADER)["bytes"]}
            check_rows(path, b.data.array(),
                       b.shuffled(b.scale.array >> 20, 3))
        return figures
    return run


def arrays():
    return Group("array", (
        Step(array_floor),
        Step(array("h5fs", "ro")),
        Step(array("default", ""), beside=True),
    ), (
        Ratio("10", ".npy in order, contiguous / null FUSE floor", "h5fs",
              ("floor",), ">= 0.85"),
        Ratio("10", ".npy in order, default mount / null FUSE floor",
              "default", ("floor",)),
    ))


# ---- 12: memory ----

CACHE = 32 * MIB
PARTS = 10


def memory(b):
    """Each read is of another sample, so that none is answered by the kernel."""
    n, sizes = b.scale.listed, []
    todo = b.shuffled(n, min(n, b.scale.reads))
    part = -(-len(todo) // PARTS)
    with b.h5fs_mounted(b.data.listed(), f"ro,cache={CACHE}") as p:
        top = b.mnt + "/images"
        for at in range(0, len(todo), part):
            some = todo[at:at + part]
            b.read([sample(top, i) for i in some], 4,
                   len(some) * stored(28, 1))
            sizes.append(memory_of(daemon_of(p)))
        check_samples(top, b.data.listed(), todo[:5])
        peak = memory_of(daemon_of(p), "VmHWM")
    return {"peak": peak, "limit": CACHE + 64 * MIB,
            "end": sizes[-1], "a fifth": sizes[len(sizes) // 5]}


def memories():
    return Group("memory", (Step(memory, rounds={"full": 1, "quick": 1}),), (
        Ratio("12", "daemon's memory, random reads / cache= and 64 MB",
              "peak", ("limit",), "<= 1.0"),
        Ratio("12", "the same, at the end / after a fifth", "end",
              ("a fifth",), "<= 1.1"),
    ))


GROUPS = (compressed(), in_order(), arrays(), memories())
