# SPDX-License-Identifier: MIT
"""Rows 1, 2, 3 and 13: mounting, and listing very many files."""
import os
import statistics
import subprocess
import time

from model import Group, Ratio, Step
from places import (Wrong, check_samples, check_sizes, sample, stored, unmount)

MOUNTS = 5              # in each round
TEN_MILLION = 10000000
MODES = (("h5fs", "ro", False), ("h5fs, default mount", "", True))


# ---- 1: mounting ----

def mount(options, n, name):
    def run(b):
        file = b.data.unallocated(n)
        more = ("-o", options) if options else ()
        took = []
        for _ in range(MOUNTS):
            start = time.monotonic()
            subprocess.run([b.h5fs, *more, file, b.mnt], check=True)
            took.append(time.monotonic() - start)
            last = os.path.getsize(sample(b.mnt + "/images", n - 1))
            beyond = os.path.exists(sample(b.mnt + "/images", n))
            unmount(b.mnt)
            if last != stored(32) or beyond:
                raise Wrong(f"{file}: not {n} samples of {stored(32)} bytes")
        return {name: statistics.median(took)}
    return run


def mounting():
    steps, ratios = [], []
    for name, options, beside in MODES:
        for n in (TEN_MILLION, 10):
            steps.append(Step(mount(options, n, f"{name}, {n} samples"),
                              beside=beside))
        ratios.append(Ratio("1", "mount 10 M samples / mount 10"
                            + (", default mount" if beside else ""),
                            f"{name}, {TEN_MILLION} samples",
                            (f"{name}, 10 samples",),
                            "" if beside else "<= 1.2"))
    return Group("mounting", tuple(steps), tuple(ratios))


# ---- 2, 3: a directory of a million ----

LISTINGS = (
    # row, command, lines beside one a sample, wanted
    ("2", ("find",), 1, "<= 1.2"),
    ("2", ("ls", "-U"), 0, "<= 1.2"),
    ("3", ("ls", "-l"), 1, "<= 1.3"),
)


def list_all(name, mounted):
    def run(b):
        n, figures = b.scale.listed, {}
        for _, command, more, _ in LISTINGS:
            with mounted(b):
                top = b.mnt + "/images"
                figures[f"{name}, {' '.join(command)}"] = b.seconds(
                    *command, top, expect=n + more)
                check_sizes(top, b.shuffled(n, 5), stored(28, 1))
                if name != "floor":
                    check_samples_grey(b, top)
        return figures
    return run


def check_samples_grey(b, top):
    check_samples(top, b.data.listed(), b.shuffled(b.scale.listed, 3))


def floor_of_listed(b):
    n = b.scale.listed
    return b.null_mounted(n, stored(28, 1), n * 784 + 128, cold=True)


def listed(options):
    return lambda b: b.h5fs_mounted(b.data.listed(), options, cold=True)


def lists():
    steps = [Step(list_all("floor", floor_of_listed))]
    ratios = []
    for name, options, beside in MODES:
        steps.append(Step(list_all(name, listed(options)),
                          rounds={"full": 1} if beside else None, beside=beside))
        for row, command, _, wanted in LISTINGS:
            what = " ".join(command)
            ratios.append(Ratio(
                row, f"{what} of very many / null FUSE floor"
                + (", default mount" if beside else ""),
                f"{name}, {what}", (f"floor, {what}",),
                "" if beside else wanted))
    return Group("lists", tuple(steps), tuple(ratios))


# ---- 13: a group of a million datasets ----

def ls_group(options, name):
    def run(b):
        n = b.scale.grouped
        with b.h5fs_mounted(b.data.grouped(), options):
            top = b.mnt + "/pictures"
            # a .png and an .npy each
            first = b.seconds("ls", top, expect=2 * n)
            second = b.seconds("ls", top, expect=2 * n)
            if os.path.getsize(f"{top}/p{n - 1:07d}.png") != stored(28, 1):
                raise Wrong(f"{top}: the last picture has another size")
        return {f"{name}, first": first, f"{name}, second": second}
    return run


def h5ls(b):
    n = b.scale.grouped
    return {"h5ls": b.seconds("h5ls", b.data.grouped() + "/pictures",
                              expect=n)}


def grouped():
    dear = {"full": 1}
    return Group("group", (
        Step(h5ls, rounds=dear, needs="h5ls"),
        Step(ls_group("ro", "h5fs"), rounds=dear),
    ), (
        Ratio("13", "first ls of a very big group / h5ls", "h5fs, first",
              ("h5ls",), "<= 1.0"),
        Ratio("13", "second ls / h5ls", "h5fs, second", ("h5ls",), "<= 0.1"),
    ))


GROUPS = (mounting(), lists(), grouped())
