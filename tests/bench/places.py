# SPDX-License-Identifier: MIT
"""Where the pictures are seen as files: the mounts that are compared, each freshly
mounted, and what is asked of all of them."""
import contextlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np
from PIL import Image

from data import png_bytes

LIMIT = 600  # seconds; nothing takes so long unless it hangs


class Wrong(Exception):
    """An answer that is not right: no figure of it counts."""


class Bench:
    """What the steps need: tools, data, a place to mount."""

    def __init__(self, scale, data, tools, h5fs):
        self.scale = scale
        self.data = data
        self.tools = tools
        self.h5fs = h5fs
        self.round = 0
        self.work = tempfile.mkdtemp(prefix="work-", dir=data.top)
        self.mnt = self.work + "/mnt"
        os.mkdir(self.mnt)
        self.running = None

    def close(self):
        if self.running and self.running.poll() is None:
            unmount(self.mnt, lazy=True)
            self.running.terminate()
            self.running.wait(LIMIT)
        shutil.rmtree(self.work, ignore_errors=True)

    # ---- mounting ----

    def drop_caches(self):
        """Nothing of files and names is in memory, where we may say so."""
        os.sync()
        if os.geteuid() == 0 and self.scale.drop:
            with open("/proc/sys/vm/drop_caches", "w") as f:
                f.write("3")

    @contextlib.contextmanager
    def mounted(self, *command, backing=None, cores=None, cold=False):
        """COMMAND MNT, in front. What it reads from (backing) is in memory, but
        nothing of the mount is. Gives the process."""
        if cold:
            self.drop_caches()
        if backing:
            bring_in(backing)
        if cores:
            command = ("taskset", "-c", cores) + command
        # h5fs is a session of its own anyhow, and the kernel shares cores between
        # sessions
        self.running = p = subprocess.Popen([*command, self.mnt],
                                            start_new_session=True)
        try:
            wait_mounted(p, self.mnt)
            yield p
        finally:
            unmount(self.mnt)
            if p.wait(LIMIT):
                raise Wrong(f"{command[0]}: ended with {p.returncode}")

    def h5fs_mounted(self, file, options="ro", **how):
        more = ("-o", options) if options else ()
        return self.mounted(self.h5fs, "-f", *more, file, backing=file, **how)

    def null_mounted(self, samples, sample_bytes, array_bytes, **how):
        return self.mounted(f"{self.tools}/nullfs", str(samples),
                            str(sample_bytes), str(array_bytes), **how)

    # ---- asking ----

    def seconds(self, *command, expect=None):
        """COMMAND | wc -l, and how many lines there must be."""
        start = time.monotonic()
        first = subprocess.Popen(command, stdout=subprocess.PIPE)
        out = subprocess.run(["wc", "-l"], stdin=first.stdout, check=True,
                             capture_output=True, timeout=LIMIT).stdout
        took = time.monotonic() - start
        if first.wait() or expect is not None and int(out) != expect:
            raise Wrong(f"{command}: {int(out)} lines, not {expect}")
        return took

    def shuffled(self, n, count=None, seed=0, keep=None):
        rng = random.Random(self.round * 1000 + seed)
        all = [i for i in range(n) if keep is None or keep(i)]
        rng.shuffle(all)
        return all[:count]

    def read(self, paths, readers=1, expect=None):
        """Whole files: {rate (files/s), bytes (a second)}."""
        out = subprocess.run([f"{self.tools}/rread", str(readers)], text=True,
                             input="\n".join(paths) + "\n", check=True,
                             capture_output=True, timeout=LIMIT).stdout.split()
        if expect is not None and int(out[2]) != expect:
            raise Wrong(f"{paths[0]}...: {out[2]} bytes, not {expect}")
        return {"rate": float(out[0]), "bytes": float(out[1])}

    def python(self, script, *args, cores=None):
        """The number that one of the readers in this directory prints."""
        here = os.path.dirname(os.path.realpath(__file__))
        prefix = ["taskset", "-c", cores] if cores else []
        p = subprocess.run([*prefix, sys.executable, "-B", f"{here}/{script}",
                            *map(str, args)], text=True, timeout=LIMIT,
                           stdout=subprocess.PIPE)
        if p.returncode:
            raise Wrong(f"{script} {args[0]}: failed")
        return float(p.stdout)


def bring_in(path):
    """Reads a file, or all files of a directory, so that memory has them."""
    files = [path]
    if os.path.isdir(path):
        files = [e.path for e in os.scandir(path)]
    for name in files:
        with open(name, "rb", buffering=0) as f:
            while f.read(1 << 20):
                pass


def wait_mounted(process, where):
    end = time.monotonic() + 60
    while not os.path.ismount(where):
        if process.poll() is not None or time.monotonic() > end:
            raise Wrong(f"{process.args[0]}: not mounted")
        time.sleep(0.002)
    os.stat(where + "/.")


def unmount(where, lazy=False):
    if os.path.ismount(where) or lazy:
        subprocess.run(["fusermount3", "-uz" if lazy else "-u", where],
                       check=not lazy, timeout=LIMIT,
                       stderr=subprocess.DEVNULL if lazy else None)


def daemon_of(process):
    """The process that serves: the child of the one that waits."""
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as f:
        return int(f.read().split()[0])


def memory_of(pid, line="VmRSS"):
    with open(f"/proc/{pid}/status") as f:
        for text in f:
            if text.startswith(line + ":"):
                return int(text.split()[1]) * 1024
    raise Wrong(f"no {line} of process {pid}")


def sample(top, i):
    return f"{top}/{i:06d}.png"


def check_samples(top, file, which):
    """The pictures under top are the rows of FILE, pixel for pixel."""
    with h5py.File(file) as f:
        for i in which:
            with Image.open(sample(top, i)) as im:
                if not np.array_equal(np.asarray(im), f["images"][i]):
                    raise Wrong(f"{sample(top, i)}: other pixels than stored")


def check_rows(array, file, which):
    """The rows of an .npy are those of FILE."""
    have = np.load(array, mmap_mode="r")
    with h5py.File(file) as f:
        for i in which:
            if not np.array_equal(have[i], f["images"][i]):
                raise Wrong(f"{array}: row {i} is not what is stored")


def check_sizes(top, which, size):
    for i in which:
        have = os.stat(sample(top, i)).st_size
        if have != size:
            raise Wrong(f"{sample(top, i)}: {have} bytes, the floor has {size}")


def stored(side, channels=3):
    return png_bytes(side, side, channels)
