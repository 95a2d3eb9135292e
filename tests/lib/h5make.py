#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes an HDF5 file of a few datasets with values that can be told apart.

usage: h5make.py FILE DATASET...

DATASET = PATH:TYPE:SHAPE[:OPTION...]
  TYPE    u8 u16 .. f32 f64 bool (bits), or any other NumPy type code
  SHAPE   4x32x32x3; `-` is a scalar
  OPTION  gzip[=N]  lzf  shuffle  fletcher32  chunk=AxBxC  grow (axis 0 has no limit)
          sparse (nothing is written)  mod=K (values 0..K-1 in order: labels)
          @NAME=JSON (an attribute)
A file that exists is added to.
"""
import json
import sys

import h5py
import numpy as np

TYPES = {'u8': 'u1', 'u16': 'u2', 'u32': 'u4', 'u64': 'u8', 'i8': 'i1', 'i16': 'i2', 'i32': 'i4', 'i64': 'i8',
         'f16': 'f2', 'f32': 'f4', 'f64': 'f8', 'bool': '?'}


def values(shape, dtype, mod):
    n = int(np.prod(shape, dtype='u8'))
    i = np.arange(n, dtype='u8')
    if mod:
        v = i % mod
    else:
        v = (i * np.uint64(2654435761) >> np.uint64(9)) & np.uint64(0xffff)
    if dtype.kind == 'f':
        return (v % 256 / 255).astype(dtype).reshape(shape)
    if dtype.kind == 'b':
        return (v & np.uint64(1)).astype(dtype).reshape(shape)
    return v.astype(dtype).reshape(shape)


def main():
    with h5py.File(sys.argv[1], 'a') as f:
        for spec in sys.argv[2:]:
            path, code, dims, *opts = spec.split(':')
            attrs, mod, sparse, kw = {}, 0, False, {}
            dtype = np.dtype(TYPES.get(code, code))
            shape = () if dims == '-' else tuple(int(x) for x in dims.split('x'))
            for o in opts:
                key, _, val = o.partition('=')
                if key.startswith('@'):
                    attrs[key[1:]] = json.loads(val)
                elif key == 'gzip':
                    kw.update(compression='gzip', compression_opts=int(val or 4))
                elif key == 'lzf':
                    kw.update(compression='lzf')
                elif key == 'chunk':
                    kw.update(chunks=tuple(int(x) for x in val.split('x')))
                elif key == 'grow':
                    kw.update(maxshape=(None,) + shape[1:])
                elif key in ('shuffle', 'fletcher32'):
                    kw[key] = True
                elif key == 'mod':
                    mod = int(val)
                elif key == 'sparse':
                    sparse = True
                else:
                    sys.exit('h5make: what is %r?' % o)
            if sparse:
                d = f.create_dataset(path, shape, dtype, **kw)
            else:
                d = f.create_dataset(path, data=values(shape, dtype, mod), **kw)
            for k, v in attrs.items():
                d.attrs[k] = v


main()
