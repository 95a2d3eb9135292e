# SPDX-License-Identifier: MIT
"""Rows 4 to 12: reading samples and arrays."""
import contextlib
import os
import subprocess
import time

from model import Group, Ratio, Step
from places import (LIMIT, bring_in, check_rows, check_samples,
                    daemon_of, memory_of, sample, stored)

MIB = 1 << 20


# ---- the places where the same pictures are files ----
# All hold the same files, byte for byte; but pillow_folder has PNGs as Pillow writes
# them, which are smaller.

@contextlib.contextmanager
def folder(b):
    bring_in(b.data.folder())
    yield b.data.folder()


@contextlib.contextmanager
def pillow_folder(b):
    bring_in(b.data.pillow_folder())
    yield b.data.pillow_folder()


@contextlib.contextmanager
def peer(b, *command, backing):
    with b.mounted(*command, backing=backing, cold=True):
        yield b.mnt


def squashfuse(b):
    image = b.data.squashfs()
    return peer(b, "squashfuse_ll", "-f", image, backing=image)


def fuse_zip(b):
    archive = b.data.zip()
    return peer(b, "fuse-zip", "-f", "-r", archive, backing=archive)


def bindfs(b):
    source = b.data.folder()
    return peer(b, "bindfs", "-f", "-r", "--multithreaded", source,
                backing=source)


@contextlib.contextmanager
def floor(b):
    n = b.scale.samples
    with b.null_mounted(n, stored(64), n * 12288 + 128, cold=True):
        yield b.mnt + "/images"


def h5fs(make, options="ro"):
    @contextlib.contextmanager
    def place(b):
        with b.h5fs_mounted(make(b.data), options, cold=True):
            yield b.mnt + "/images"
    return place


def contiguous(data):
    return data.contiguous()


def one_a_chunk(data):
    return data.one_a_chunk()


def gzip(data):
    return data.gzip()


def gzip_large(data):
    return data.gzip_large()


# ---- 4, 5: whole files at random ----

READERS = (1, 4)
PASSES = ("first", "second")


def random_files(name, place):
    def run(b):
        n, figures = b.scale.samples, {}
        for readers in READERS:
            with place(b) as top:
                paths = [sample(top, i) for i in b.shuffled(n, seed=readers)]
                size = None if name == "pillow" else n * stored(64)
                for turn in PASSES:
                    figures[f"{name}, {readers}, {turn}"] = b.read(
                        paths, readers, size)["rate"]
                if name != "floor":
                    check_samples(top, b.data.contiguous(),
                                  b.shuffled(n, 5, seed=9))
        return figures
    return run


FORMS = (
    ("h5fs, contiguous", contiguous, "ro"),
    ("h5fs, one a chunk", one_a_chunk, "ro"),
    ("h5fs, contiguous, default mount", contiguous, ""),
)
PEERS = (("squashfuse", squashfuse, "squashfuse_ll"),
         ("fuse-zip", fuse_zip, "fuse-zip"), ("bindfs", bindfs, "bindfs"))


def random_group():
    steps = [Step(random_files("floor", floor)),
             Step(random_files("folder", folder)),
             Step(random_files("pillow", pillow_folder), beside=True)]
    steps += [Step(random_files(name, place), needs=program)
              for name, place, program in PEERS]
    ratios = []
    for name, make, options in FORMS:
        told = not options
        steps.append(Step(random_files(name, h5fs(make, options)),
                          beside=told))
        for k in READERS:
            work = f"random files, {name[6:]}, {k} reader" + "s" * (k > 1)

            def ratio(row, turn, what, names, wanted):
                ratios.append(Ratio(
                    row, f"{work}, {turn} pass / {what}",
                    f"{name}, {k}, {turn}",
                    tuple(f"{x}, {k}, {turn}" for x in names),
                    "" if told else wanted))
            ratio("4", "first", "null FUSE floor", ("floor",), ">= 0.8")
            ratio("4", "first", "best FUSE peer", [p[0] for p in PEERS],
                  "> 1")
            ratio("5", "second", "ext4 folder", ("folder",), ">= 1.0")
            ratio("5", "second", "Pillow's PNGs on ext4", ("pillow",), "")
    ratios += [Ratio("5", f"null FUSE floor, {k} reader" + "s" * (k > 1)
                     + ", second pass / ext4 folder", f"floor, {k}, second",
                     (f"folder, {k}, second",)) for k in READERS]
    return Group("random", tuple(steps), tuple(ratios))


# ---- 6: decoded by Pillow ----

def pillow(name, place, cached=False):
    def run(b):
        with place(b) as top:
            if cached:
                bring_in(top + ".npy")
            return {name: b.python("readers.py", "pillow", top,
                                   b.data.contiguous(), b.scale.decoded,
                                   b.round)}
    return run


def decoding():
    cache = "ro,cache=1G"
    return Group("pillow", (
        Step(pillow("folder", pillow_folder)),
        Step(pillow("contiguous", h5fs(contiguous))),
        Step(pillow("gzip", h5fs(gzip, cache), cached=True)),
        Step(pillow("default", h5fs(contiguous, "")), beside=True),
    ), (
        Ratio("6", "Pillow, random, contiguous / PNGs on ext4", "contiguous",
              ("folder",), ">= 2"),
        Ratio("6", "Pillow, random, gzip 4 in cache / PNGs on ext4", "gzip",
              ("folder",), ">= 1.5"),
        Ratio("6", "Pillow, contiguous, default mount / PNGs on ext4",
              "default", ("folder",)),
    ))


# ---- 7: torchvision ----

def torch_folder(b):
    top = b.data.class_folders()
    bring_in(b.data.pillow_folder())
    return {"folder": b.python("readers.py", "torch", top,
                               b.data.contiguous(), b.round)}


def torch_mount(name, make, options):
    def run(b):
        with b.h5fs_mounted(make(b.data), options, cold=True):
            return {name: b.python("readers.py", "torch", b.mnt,
                                   b.data.contiguous(), b.round)}
    return run


def loading():
    classes = "view=classes,classes=numbers"
    how = {"rounds": {"full": 2, "quick": 1}, "needs": "torchvision"}
    return Group("torch", (
        Step(torch_folder, **how),
        Step(torch_mount("contiguous", contiguous, "ro," + classes), **how),
        Step(torch_mount("gzip", gzip, "ro," + classes), beside=True, **how),
        Step(torch_mount("default", contiguous, classes), beside=True, **how),
    ), (
        Ratio("7", "ImageFolder and DataLoader, contiguous / ext4 folder",
              "contiguous", ("folder",), ">= 1.5"),
        Ratio("7", "ImageFolder and DataLoader, gzip 4 / ext4 folder", "gzip",
              ("folder",)),
        Ratio("7", "ImageFolder and DataLoader, default mount / ext4 folder",
              "default", ("folder",)),
    ))


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


GROUPS = (random_group(), decoding(), loading(), compressed(), in_order(),
          arrays(), memories())
