# SPDX-License-Identifier: MIT
"""The data: the same pictures in every form, made when first asked for and kept.

Each maker is a method that returns a path. It writes beside that and renames, so
what is there is whole."""
import multiprocessing
import os
import shutil
import subprocess

import h5py
import numpy as np
from PIL import Image

CHUNK = 64
CLASSES = 10
BLOCK = 1024


def png_bytes(height, width, channels):
    """The size of a stored PNG of 8 bits."""
    raw = height * (1 + width * channels)
    return 57 + 2 + 5 * -(-raw // 65535) + raw + 4


def pictures(first, n, side):
    """Slow waves with fine noise on top: compress as photographs do. The same for
    the same arguments."""
    rng = np.random.default_rng([first, side])
    y, x = np.mgrid[0:side, 0:side].astype("f4") / (side - 1)
    a = rng.uniform(-1, 1, (6, n, 3, 1, 1)).astype("f4")
    f = rng.uniform(1, 6, (2, n, 3, 1, 1)).astype("f4")
    wave = a[0] * x + a[1] * y + a[2] * x * y + \
        .4 * a[3] * np.sin(f[0] * x * 3) + .4 * a[4] * np.cos(f[1] * y * 3)
    noise = rng.standard_normal(wave.shape, "f4") * 2
    return np.clip(128 + 70 * wave + noise, 0, 255).astype(
        "u1").transpose(0, 2, 3, 1)


def blocks(n, side):
    size = BLOCK if side <= 64 else CHUNK
    for first in range(0, n, size):
        yield first, pictures(first, min(size, n - first), side)


def save_block(job):
    start, first, n, how = job
    for k, picture in enumerate(pictures(first, n, 64)):
        Image.fromarray(picture).save(f"{start}{first + k:06d}.png", **how)


def label(i):
    return i * 7 % CLASSES


class Data:
    def __init__(self, top, scale):
        self.top = os.path.realpath(top)
        self.scale = scale
        os.makedirs(self.top, exist_ok=True)

    def made(self, name, make):
        path = f"{self.top}/{name}"
        if not os.path.exists(path):
            print(f"making {name}", flush=True)
            shutil.rmtree(path + ".new", ignore_errors=True)
            make(path + ".new")
            os.rename(path + ".new", path)
            os.sync()
        return path

    def images(self, name, n, side, **how):
        def make(path):
            with h5py.File(path, "w") as f:
                d = f.create_dataset("images", (n, side, side, 3), "u1", **how)
                for first, x in blocks(n, side):
                    d[first:first + len(x)] = x
                labels = np.array([label(i) for i in range(n)], "u1")
                f["labels"] = labels
        return self.made(f"{name}-{n}.h5", make)

    # ---- the pictures that all have ----

    def contiguous(self):
        return self.images("contiguous", self.scale.samples, 64)

    def one_a_chunk(self):
        return self.images("chunk1", self.scale.samples, 64,
                           chunks=(1, 64, 64, 3))

    def gzip(self):
        return self.images("gzip", self.scale.samples, 64,
                           chunks=(CHUNK, 64, 64, 3), compression="gzip",
                           compression_opts=4)

    def gzip_large(self):
        return self.images("gzip256", self.scale.large, 256,
                           chunks=(CHUNK, 256, 256, 3), compression="gzip",
                           compression_opts=4)

    def files(self, name, **how):
        n = self.scale.samples

        def make(path):
            os.mkdir(path)
            jobs = [(path + "/", i, min(BLOCK, n - i), how)
                    for i in range(0, n, BLOCK)]
            with multiprocessing.Pool() as pool:
                pool.map(save_block, jobs)
        return self.made(f"{name}-{n}", make)

    def folder(self):
        """The same files that a mount shows."""
        return self.files("stored", compress_level=0)

    def pillow_folder(self):
        return self.files("pillow")

    def class_folders(self):
        """Pillow's files, as hard links in class folders."""
        def make(path):
            for c in range(CLASSES):
                os.makedirs(f"{path}/{c}")
            for name in os.listdir(source):
                c = label(int(name.split(".")[0]))
                os.link(f"{source}/{name}", f"{path}/{c}/{name}")
        source = self.pillow_folder()
        return self.made(f"classes-{self.scale.samples}", make)

    def squashfs(self):
        """Not compressed, which is faster at random than anything else it can."""
        def make(path):
            subprocess.run(["mksquashfs", self.folder(), path, "-noI", "-noD",
                            "-noF", "-noX", "-no-fragments", "-quiet",
                            "-no-progress"], check=True,
                           stdout=subprocess.DEVNULL)
        return self.made(f"stored-{self.scale.samples}.squashfs", make)

    def zip(self):
        """Stored, for the same reason."""
        def make(path):
            subprocess.run(["zip", "-q0r", path, "."], cwd=self.folder(),
                           check=True)
        return self.made(f"stored-{self.scale.samples}.zip", make)

    # ---- many ----

    def unallocated(self, n):
        """n samples of which nothing is stored, and their labels."""
        def make(path):
            with h5py.File(path, "w") as f:
                f.create_dataset("images", (n, 32, 32, 3), "u1",
                                 maxshape=(None, 32, 32, 3),
                                 chunks=(CHUNK, 32, 32, 3), compression="gzip")
                f["labels"] = (np.arange(n) % CLASSES).astype("u1")
        return self.made(f"unallocated-{n}.h5", make)

    def listed(self):
        """28x28, all chunks compressed, a few hundred of them different."""
        n = self.scale.listed

        def make(path):
            shape, chunk = (n, 28, 28), (CHUNK, 28, 28)
            with h5py.File(path, "w") as f:
                d = f.create_dataset("images", shape, "u1", chunks=chunk,
                                     compression="gzip", compression_opts=4)
                grey = pictures(0, 256 * CHUNK, 28)[..., 0]
                last = -(-n // CHUNK)
                first = min(256, last)
                d[:min(n, first * CHUNK)] = grey[:min(n, first * CHUNK)]
                f.flush()
                packed = [d.id.read_direct_chunk((i * CHUNK, 0, 0))
                          for i in range(first)]
                for i in range(first, last):
                    mask, data = packed[i % first]
                    d.id.write_direct_chunk((i * CHUNK, 0, 0), data, mask)
        return self.made(f"listed-{n}.h5", make)

    def grouped(self):
        """One group, one small picture a dataset, each as h5py makes it."""
        n = self.scale.grouped

        def make(path):
            picture = np.arange(784, dtype="u1").reshape(28, 28)
            with h5py.File(path, "w") as f:
                group = f.create_group("pictures").id
                space = h5py.h5s.create_simple(picture.shape)
                for i in range(n):
                    d = h5py.h5d.create(group, b"p%07d" % i,
                                        h5py.h5t.NATIVE_UINT8, space)
                    d.write(h5py.h5s.ALL, h5py.h5s.ALL, picture)
        return self.made(f"grouped-{n}.h5", make)

    def array(self):
        """One array of a few noisy megabytes, again and again."""
        n = self.scale.array >> 20

        def make(path):
            noise = np.random.default_rng(1).integers(
                0, 256, (8, 1 << 20), "u1")
            with h5py.File(path, "w") as f:
                d = f.create_dataset("images", (n, 1 << 20), "u1")
                for i in range(n):
                    d[i] = noise[i % 8] ^ np.uint8(i // 8)
        return self.made(f"array-{n}.h5", make)

    # ---- to be copied in ----

    def to_append(self):
        """PNGs whose names are not those of rows; and their pixels, as rows of a
        file."""
        n = self.scale.appended

        def make(path):
            os.makedirs(path + "/png")
            with open(path + "/rows", "wb") as rows:
                for first, x in blocks(n, 64):
                    rows.write(x.tobytes())
                    save_block((path + "/png/new", first, len(x), {}))
        return self.made(f"append-{n}", make)
