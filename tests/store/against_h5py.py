# SPDX-License-Identifier: MIT
"""What the writer leaves is what h5py would have written: the same requests are
made of both, on copies of one file, and h5diff and h5py compare the results.

    against_h5py.py DRIVE DIRECTORY CASE
"""
import os
import shutil
import subprocess
import sys

import h5py
import numpy as np

drive, work = sys.argv[1:3]
os.chdir(work)
rng = np.random.default_rng(5)


class Both:
    """One file for the writer, one for h5py."""

    def __init__(self, make, **options):
        with h5py.File("ours.h5", "w", **options) as f:
            make(f)
        shutil.copy("ours.h5", "theirs.h5")
        self.commands = []
        self.files = 0
        self.theirs = h5py.File("theirs.h5", "a", **options)

    def values(self, a):
        """A file of elements in memory form."""
        self.files += 1
        name = "values%d" % self.files
        with open(name, "wb") as f:
            if a.dtype == object:
                f.write(b"".join(s.encode() + b"\0" for s in a.flat))
            else:
                f.write(np.ascontiguousarray(
                    a.astype(a.dtype.newbyteorder("<"))).tobytes())
        return name

    def say(self, *words):
        self.commands.append(" ".join(str(w) for w in words))

    def append(self, path, a, axis=0):
        d = self.theirs[path]
        at = d.shape[axis]
        self.say("append", path, axis, a.shape[axis], self.values(a))
        d.resize(at + a.shape[axis], axis)
        d[(slice(None),) * axis + (slice(at, None),)] = a

    def overwrite(self, path, at, a, axis=0):
        self.say("overwrite", path, axis, at, a.shape[axis], self.values(a))
        self.theirs[path][(slice(None),) * axis +
                          (slice(at, at + a.shape[axis]),)] = a

    def check(self, size=None, tools=True):
        """tools: HDF5's own can read it."""
        self.theirs.close()
        subprocess.run([drive, "ours.h5"], check=True,
                       input="\n".join(self.commands) + "\n", text=True)
        for words in (["h5diff", "-v", "ours.h5", "theirs.h5"],
                      ["h5dump", "ours.h5"])[:2 * tools]:
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        with h5py.File("ours.h5") as a, h5py.File("theirs.h5") as b:
            same_objects(a, b)
        if size:
            ours, theirs = (os.path.getsize(f)
                            for f in ("ours.h5", "theirs.h5"))
            assert ours <= theirs * size, (ours, theirs)


def same_values(a, b):
    if a.dtype == object:
        a, b = ([list(x) if isinstance(x, np.ndarray) else x for x in y.flat]
                for y in (a, b))
        assert a == b
    else:
        assert a.tobytes() == b.tobytes()


def same_objects(a, b):
    assert type(a) is type(b), (a, b)
    assert list(a.attrs) == list(b.attrs), (a.name, list(a.attrs))
    for name in a.attrs:
        x, y = a.attrs.get_id(name), b.attrs.get_id(name)
        assert x.get_type() == y.get_type(), (name, x.dtype, y.dtype)
        assert x.shape == y.shape
        same_values(np.asarray(a.attrs[name]), np.asarray(b.attrs[name]))
    if isinstance(a, h5py.Dataset):
        for what in ("shape", "maxshape", "chunks", "compression",
                     "compression_opts", "shuffle", "fletcher32"):
            assert getattr(a, what) == getattr(b, what), (a.name, what)
        assert a.id.get_type() == b.id.get_type(), (a.name, a.dtype, b.dtype)
        if a.shape is not None:
            same_values(np.asarray(a[()]), np.asarray(b[()]))
    elif isinstance(a, h5py.Group):
        assert list(a) == list(b)
        for name in a:
            x, y = a.get(name, getlink=True), b.get(name, getlink=True)
            assert type(x) is type(y)
            if isinstance(x, h5py.SoftLink):
                assert x.path == y.path
            elif isinstance(x, h5py.HardLink):
                same_objects(a[name], b[name])


dtypes = {
    "u1": np.uint8, "i2": np.int16, ">u2": ">u2", ">f8": ">f8", "f2": "f2",
    "f4": "f4", "bool": bool, "c8": "c8", "c16": "c16", "S5": "S5",
    "pair": [("a", "u1"), ("b", "f8")],
    "grid": [("a", "i4", (2, 3))],
    "str": h5py.string_dtype(),
    "enum": h5py.enum_dtype({"A": 1, "B": 5}, basetype="i2"),
}


def make_values(dtype, shape):
    dtype = np.dtype(dtype)
    if dtype == object:
        texts = ["ü" * int(n) for n in rng.integers(0, 30, int(np.prod(shape)))]
        return np.array(texts, object).reshape(shape)
    if h5py.check_enum_dtype(dtype):
        return rng.choice([1, 5], shape).astype(dtype)
    if dtype == bool:
        return rng.integers(0, 2, shape).astype(bool)
    a = np.zeros(shape, dtype)
    if dtype.names:
        for name in dtype.names:
            a[name] = rng.integers(0, 9, a[name].shape)
    elif dtype.kind == "S":
        a[...] = rng.choice([b"ab", b"", b"abcde"], shape)
    else:
        a[...] = rng.integers(0, 99, shape)
    return a


def every_dtype(**options):
    for name, dtype in dtypes.items():
        both = Both(lambda f: f.create_dataset(
            "d", data=make_values(dtype, (10, 3)), dtype=dtype,
            chunks=(4, 2), maxshape=(None, 3), **options))
        both.say("begin")
        both.append("/d", make_values(dtype, (1, 3)))
        both.append("/d", make_values(dtype, (9, 3)))
        both.overwrite("/d", 5, make_values(dtype, (7, 3)))
        both.say("commit")
        both.say("begin")
        both.append("/d", make_values(dtype, (30, 3)))
        both.overwrite("/d", 1, make_values(dtype, (1, 3)))
        both.say("commit")
        both.check(tools=options.get("compression") != "lzf")


def case_plain():
    every_dtype()


def case_gzip():
    every_dtype(compression="gzip", shuffle=True)


def case_lzf():
    every_dtype(compression="lzf")


def case_fletcher32():
    del dtypes["str"]  # the library has no checksums of what lies elsewhere
    every_dtype(compression="gzip", compression_opts=9, fletcher32=True)


def case_scaleoffset():
    """A filter that only the library has."""
    both = Both(lambda f: f.create_dataset(
        "d", data=make_values("i4", (10, 3)), chunks=(4, 3),
        maxshape=(None, 3), scaleoffset=0))
    both.say("begin")
    both.append("/d", make_values("i4", (33, 3)))
    both.say("commit")
    both.check()


def case_shapes():
    for shape, chunks, axis in [((0, 6, 4), (1, 6, 4), 0),
                                ((5, 6, 4), (64, 6, 4), 0),
                                ((9, 11, 4), (7, 5, 3), 0),
                                ((5, 4, 6), (2, 3, 6), 1),
                                ((5, 4, 0), (5, 4, 2), 2)]:
        for libver in "earliest", "latest":
            maxshape = [n for n in shape]
            maxshape[axis] = None
            both = Both(lambda f: f.create_dataset(
                "d", data=make_values("i4", shape), chunks=chunks,
                maxshape=tuple(maxshape), compression="gzip",
                fillvalue=-3), libver=libver)
            for n in 1, 3, 100, 2:
                more = list(shape)
                more[axis] = n
                both.say("begin")
                both.append("/d", make_values("i4", more), axis)
                both.say("commit")
            both.check()


def images(n):
    """Slopes with some noise: what is packed is about half of it."""
    x = np.arange(64)
    slope = (x[:, None] + 2 * x[None, :]).astype(np.uint8)
    return (slope[None, :, :, None] + rng.integers(0, 16, (n, 64, 64, 3))
            ).astype(np.uint8)


def case_images():
    """A batch of pictures, and 200 single ones: no larger than h5py's."""
    both = Both(lambda f: [f.create_dataset(
        name, (0, 64, 64, 3), "u1", chunks=(64, 64, 64, 3),
        maxshape=(None, 64, 64, 3), compression="gzip")
        for name in ("batch", "single")])
    both.say("begin")
    both.append("/batch", images(1000))
    for _ in range(200):
        both.append("/single", images(1))
    both.say("commit")
    both.check(size=1.02)


def case_create():
    def same(f, name, a, growable, chunks):
        maxshape = None
        if growable:
            maxshape = (None,) + a.shape[1:]
        f.create_dataset(name, data=a, maxshape=maxshape,
                         chunks=chunks if growable else None,
                         compression="gzip" if growable else None,
                         shuffle=growable, track_times=False,
                         dtype=h5py.string_dtype()
                         if a.dtype == object else None)

    both = Both(lambda f: f.create_group("g"))
    both.say("begin")
    for i, (dtype, shape, chunks) in enumerate([
            ("u1", (100, 64, 64, 3), (64, 64, 64, 3)), ("f8", (50,), (8192,)),
            ("?1", (50,), (65536,)), ("c8", (5, 7), (1170, 7)),
            ("S5", (9,), (13107,)), ("U0", (9,), (8192,)), ("i4", (), None),
            ("f8", (0, 3), (2730, 3))]):
        a = make_values(object if dtype == "U0" else dtype.replace("?1", "?"),
                        shape)
        for growable in (False, True)[:1 + bool(chunks)]:
            name = "/new/%d/%s" % (i, growable)
            both.say("create", name, dtype,
                     "growable" if growable else "fixed",
                     ",".join(map(str, shape)) or "-", both.values(a))
            same(both.theirs, name, a, growable, chunks)
    both.say("group", "/g/h/i")
    both.theirs.create_group("/g/h/i")
    both.say("link", "/g/l", "h/i")
    both.theirs["/g/l"] = h5py.SoftLink("h/i")
    both.say("commit")
    both.say("begin")
    both.say("move", "/new/0", "/g/zero")
    both.theirs.move("/new/0", "/g/zero")
    both.say("unlink", "/new/1")
    del both.theirs["/new/1"]
    both.say("commit")
    both.check()


def case_attributes():
    both = Both(lambda f: f.create_dataset("g/d", data=1).attrs.update(
        old=np.int32(4), text="x", flag=True, list=[1., 2.]))
    both.say("begin")
    for path in "/", "/g", "/g/d":
        at = both.theirs[path].attrs
        for name, dtype, shape in [
                ("int", "i8", ()), ("float", "f8", ()), ("bool", "?1", ()),
                ("complex", "c16", ()), ("text", "U0", ()), ("S", "S5", ()),
                ("ints", "i8", (3,)), ("grid", "f4", (2, 3)),
                ("texts", "U0", (4,)), ("bools", "?1", (3,)),
                ("old", "i4", ()), ("list", "f8", (5,))]:
            a = make_values(object if dtype == "U0"
                            else dtype.replace("?1", "?"), shape)
            both.say("attr", path, name, dtype,
                     ",".join(map(str, shape)) or "-", both.values(a))
            if dtype == "U0":
                at.create(name, a if shape else a[()],
                          dtype=h5py.string_dtype())
            else:
                at.create(name, a)
    both.say("noattr", "/g/d", "flag")
    del both.theirs["/g/d"].attrs["flag"]
    both.say("commit")
    both.check()


def case_replace():
    def make(f):
        f["plain"] = np.zeros((9, 11))
        f.create_dataset("packed", (9, 11), "f8", chunks=(4, 3),
                         compression="gzip", shuffle=True)

    both = Both(make)
    both.say("begin")
    for name in "plain", "packed":
        a = make_values("f8", (9, 11))
        both.say("replace", "/" + name, both.values(a))
        both.theirs[name][...] = a
    both.say("commit")
    both.check()


def case_grow():
    """What was fixed grows: as if it had been made so."""
    def make(f, fixed):
        for name, options in [("plain", {}),
                              ("packed", dict(chunks=(4, 3), shuffle=True,
                                              compression="gzip"))]:
            if not fixed:
                options = dict(options, maxshape=(None, 5))
                options.setdefault("chunks", (1638, 5))
            d = f.create_dataset(name, data=np.arange(45.).reshape(9, 5),
                                 fillvalue=7, **options)
            d.attrs["unit"] = "mm"

    both = Both(lambda f: make(f, True))
    for name in "plain", "packed":
        del both.theirs[name]
    make(both.theirs, False)
    both.say("begin")
    for name in "/plain", "/packed":
        both.say("grow", name, 0)
        a = make_values("f8", (12, 5))
        both.theirs[name].resize(21, 0)
        both.theirs[name][9:] = a
        at = both.values(a)
        both.say("append", name, 0, 12, at)
    both.say("commit")
    both.check()


cases = {name[5:]: f for name, f in globals().items()
         if name.startswith("case_")}
cases[sys.argv[3]]()
