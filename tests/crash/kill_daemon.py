#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kill_daemon.py --h5fs H5FS [--rounds N] [--seed S] [--keep DIR]

Kills a mount, at a random moment of each round, while pictures are copied in,
mounts again, and in the end looks for every picture: each one whose close()
returned 0 is in the file once, with its pixels, its label and its name, and
nothing is there that nobody copied. After each kill, before anything is mounted,
h5py either refuses the file or reads all of it.

The set is compressed, with labels and names; its classes are folders. Rounds
alternate between the supervisor and the daemon alone as what is killed."""
import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import h5py
import numpy as np
from PIL import Image

SIDE = 24
CLASSES = ["ant", "bee", "cat"]
SEEDED = 3  # rows that are there from the start


def picture(number):
    """Pixels that say which picture it is, and do not compress well."""
    rng = np.random.default_rng(number)
    pixels = rng.integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)
    pixels[0, :4, 0] = np.frombuffer(np.uint32(number).tobytes(), np.uint8)
    return pixels


def name_of(number):
    return f"p{number:07d}.png"


def make(path):
    with h5py.File(path, "w") as f:
        images = np.stack([picture(i) for i in range(SEEDED)])
        f.create_dataset("images", data=images, chunks=(16, SIDE, SIDE, 3),
                         maxshape=(None, SIDE, SIDE, 3), compression="gzip")
        labels = np.array([i % 3 for i in range(SEEDED)], np.int32)
        d = f.create_dataset("labels", data=labels, maxshape=(None,),
                             chunks=(64,))
        d.attrs["class_names"] = CLASSES
        f.create_dataset("names", data=[name_of(i) for i in range(SEEDED)],
                         dtype=h5py.string_dtype(), maxshape=(None,),
                         chunks=(64,))


def read(path):
    """Everything, or None where h5py refuses the file."""
    try:
        with h5py.File(path, "r") as f:
            return f["images"][:], f["labels"][:], f["names"].asstr()[:]
    except OSError as e:
        return None, str(e), None


def check_rows(images, labels, names, accepted, attempted, known=0):
    """known: so many rows were looked at before, and are not drawn again."""
    bad = []
    if not len(images) == len(labels) == len(names):
        bad.append(f"lengths {len(images)} {len(labels)} {len(names)}")
    seen = {}
    for i, name in enumerate(names):
        number = int(name[1:8])
        seen[number] = seen.get(number, 0) + 1
        if i >= known and not np.array_equal(images[i], picture(number)):
            bad.append(f"row {i} ({name}) has other pixels")
        if labels[i] != number % 3:
            bad.append(f"row {i} ({name}) has label {labels[i]}")
        if number not in attempted:
            bad.append(f"row {i} ({name}) was never copied")
    bad += [f"{name_of(n)} is there {k} times" for n, k in seen.items() if k > 1]
    if accepted is not None:
        bad += [f"{name_of(n)} was accepted and is gone"
                for n in sorted(accepted - set(seen))]
    return bad


def is_mounted(path):
    with open("/proc/self/mountinfo") as f:
        return any(line.split()[4] == path for line in f)


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            return [int(p) for p in f.read().split()]
    except OSError:
        return []


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Mount:
    def __init__(self, h5fs, path, where, log):
        self.where = where
        self.process = subprocess.Popen([h5fs, "-f", path, where],
                                        stdout=log, stderr=log)
        end = time.monotonic() + 30
        while not is_mounted(where):
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"no mount: {self.process.poll()}")
            time.sleep(0.005)
        os.stat(where + "/.")

    def kill(self, supervisor_too):
        daemons = children(self.process.pid)
        if supervisor_too:
            kill(self.process.pid)
        for pid in daemons:
            kill(pid)
        self.process.wait()
        if is_mounted(self.where):
            # by force: that ends what waits for an answer
            subprocess.run(["umount", "-f", self.where], check=False,
                           stderr=subprocess.DEVNULL)
        if is_mounted(self.where):
            subprocess.run(["umount", "-l", self.where], check=False)

    def end(self):
        subprocess.run(["fusermount3", "-u", self.where], check=True)
        return self.process.wait(timeout=120)


def copy(where, numbers, accepted, stop):
    """Copies until the mount is gone; notes what close() accepted."""
    for n in numbers:
        if stop.is_set():
            return
        path = f"{where}/images.by-class/{CLASSES[n % 3]}/{name_of(n)}"
        try:
            data = png_bytes(n)
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            try:
                os.write(fd, data)
            finally:
                os.close(fd)
            accepted.add(n)
        except OSError:
            return


def png_bytes(n):
    import io
    out = io.BytesIO()
    Image.fromarray(picture(n)).save(out, "PNG", compress_level=0)
    return out.getvalue()


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--h5fs", required=True)
    args.add_argument("--rounds", type=int, default=200)
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--keep", help="work here and leave what was made")
    o = args.parse_args()
    rng = random.Random(o.seed)
    work = os.path.realpath(o.keep or tempfile.mkdtemp(prefix="h5fs-kill-"))
    os.makedirs(work, exist_ok=True)
    path, where = work + "/data.h5", work + "/mnt"
    os.makedirs(where, exist_ok=True)
    make(path)
    attempted = set(range(SEEDED))
    accepted = set(range(SEEDED))
    refused = known = 0
    bad = []
    following = SEEDED
    with open(work + "/log", "w") as log:
        for k in range(o.rounds):
            m = Mount(o.h5fs, path, where, log)
            numbers = list(range(following, following + 400))
            following += 400
            attempted.update(numbers)
            stop = threading.Event()
            now = set()
            thread = threading.Thread(target=copy,
                                      args=(where, numbers, now, stop))
            thread.start()
            time.sleep(rng.uniform(0, 0.6))
            m.kill(supervisor_too=bool(k % 2))
            stop.set()
            thread.join()
            accepted |= now
            images, labels, names = read(path)
            if images is None:
                refused += 1
            else:
                bad += [f"round {k}: {b}" for b in
                        check_rows(images, labels, names, None, attempted,
                                   known)]
                known = len(names)
            if bad:
                break
        if not bad:
            m = Mount(o.h5fs, path, where, log)
            status = m.end()
            if status:
                bad.append(f"the last mount ended with {status}")
            images, labels, names = read(path)
            if images is None:
                bad.append(f"h5py refuses the file: {labels}")
            else:
                bad += check_rows(images, labels, names, accepted, attempted)
                if subprocess.run(["h5dump", "-H", path],
                                  stdout=subprocess.DEVNULL).returncode:
                    bad.append("h5dump refuses the file")
            if os.path.exists(work + "/.data.h5.h5fs"):
                bad.append("something is left beside the file")
    for b in bad[:20]:
        print(b)
    print(f"{o.rounds} kills: {len(accepted)} pictures accepted of "
          f"{len(attempted)} tried, the file was refused {refused} times before "
          f"it was mounted again, {len(bad)} faults")
    if not o.keep and not bad:
        shutil.rmtree(work)
    elif bad:
        print(f"see {work}")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
