# SPDX-License-Identifier: MIT
"""Rows 4 to 7: the pictures as files, beside other places where they are files."""
import contextlib

from model import Group, Ratio, Step
from places import bring_in, check_samples, sample, stored


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


GROUPS = (random_group(), decoding(), loading())
