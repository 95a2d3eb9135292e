#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compare.py NPY_TOOL - what h5fs reads of NumPy's own .npy files: the same
elements, in C order and native."""
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np

FAILED = []


def arrays():
    rng = np.random.default_rng(1)
    shapes = [(), (1,), (7,), (3, 4), (2, 3, 4), (1, 5, 1), (0,), (3, 0, 2)]
    types = ["b1", "u1", "i1", "<u2", ">u2", "<i4", ">i4", "<u8", ">i8", "<f2",
             ">f2", "<f4", ">f4", "<f8", ">f8", "<f16", "<c8", ">c8", "<c16",
             ">c16", "S5", "U3", ">U3",
             [("a", "<u2"), ("b", ">f4", (2, 3)), ("c", "S3")],
             [("x", [("y", ">i2"), ("z", "?")]), ("é'\\\n", "<U2")]]
    for shape in shapes:
        for t in types:
            t = np.dtype(t)
            n = int(np.prod(shape, dtype=int))
            if t.kind in "SU":
                a = np.array(["", "a", "äöü"[:3], "xyz"])[
                    rng.integers(0, 4, n)]
                a = np.char.encode(a, "utf-8").astype(t) if t.kind == "S" \
                    else a.astype(t)
            elif t.names:
                a = np.zeros(n, t)
                for k, v in enumerate(t.names):
                    if a[v].dtype.names:
                        a[v]["y"] = rng.integers(0, 99, n)
                        a[v]["z"] = rng.integers(0, 2, n)
                    elif a[v].dtype.kind in "SU":
                        a[v] = "ab"
                    else:
                        a[v] = rng.integers(0, 99, a[v].shape)
            else:
                a = rng.integers(0, 2 if t.kind == "b" else 99, n).astype(t)
            yield a.reshape(shape)
            if len(shape) > 1:
                yield np.asfortranarray(a.reshape(shape))
                yield a.reshape(shape)[..., ::-1]
    yield np.zeros(3, np.dtype({"names": ["a", "b"], "formats": ["u1", "<f8"],
                                "offsets": [0, 8], "itemsize": 24}))
    yield np.zeros(3, np.dtype([("a", "u1"), ("b", "<f8")], align=True))
    yield np.zeros(2, np.dtype([(f"field{i}", "u1") for i in range(9000)]))


def native(t):
    """The dtype that h5fs has of it: UTF-8 in as many bytes as UCS-4 had."""
    if t.subdtype:
        return np.dtype((native(t.subdtype[0]), t.subdtype[1]))
    if t.names:
        return np.dtype({"names": t.names, "itemsize": t.itemsize,
                         "formats": [native(t.fields[n][0]) for n in t.names],
                         "offsets": [t.fields[n][1] for n in t.names]})
    if t.kind == "U":
        return np.dtype(f"S{t.itemsize}")
    return t.newbyteorder("<")


def expected(a):
    if a.dtype.names:
        out = np.zeros(a.shape, native(a.dtype))
        for n in a.dtype.names:
            out[n] = expected(a[n])
        return out
    if not a.size:  # which encode() reshapes
        return np.zeros(a.shape, native(a.dtype))
    if a.dtype.kind == "U":
        return np.char.encode(a, "utf-8").astype(f"S{a.dtype.itemsize}")
    return a.astype(native(a.dtype))


def same(got, want):
    if want.dtype.names:
        return all(same(got[n], want[n]) for n in want.dtype.names)
    if want.dtype == np.longdouble:  # whose padding may be anything
        return np.array_equal(got, want)
    return got.tobytes() == want.tobytes()


def main():
    warnings.simplefilter("ignore")  # of NumPy, about versions 2 and 3
    tool = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE)
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.npy")
        for a in arrays():
            np.save(path, a)
            tool.stdin.write(f"{path}\n".encode())
            tool.stdin.flush()
            line = tool.stdout.readline().decode().strip()
            what = f"{a.dtype} {a.shape}"[:200]
            count += 1
            if not line or line.startswith("-"):
                FAILED.append(what)
                print("not read:", what, line)
                continue
            rank, size, n = map(int, line.split())
            got = np.frombuffer(tool.stdout.read(n), native(a.dtype))
            if (rank, size) != (a.ndim, a.dtype.itemsize) or not same(
                    got.reshape(a.shape), expected(a)):
                FAILED.append(what)
                print("not the same:", what)
    tool.stdin.close()
    if tool.wait() != 0 or count < 100:
        FAILED.append("the tool")
    print(f"{count} files, {len(FAILED)} failed")
    return 1 if FAILED else 0


sys.exit(main())
