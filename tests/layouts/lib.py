# SPDX-License-Identifier: MIT
"""Shared helpers for make_layouts.py: test pictures, encoders, expectation records.

Every expectation starts from the *display* picture (what the PNG must show) and
the stored array is derived from it, so an error in a transpose/flip cannot hide.
"""
import hashlib
import io
import json
import os
import subprocess

import h5py
import numpy as np
from PIL import Image

REG = []          # (file name, function, meta)


def layout(name, domain, source, note='', custom=False, libver=None):
    def deco(fn):
        REG.append((name, fn, dict(domain=domain, source=source, note=note,
                                   custom=custom, libver=libver)))
        return fn
    return deco


# ------------------------------------------------------------------ pictures
def _corner(h, w):
    return max(1, min(h, w) // 8)


def rgb(h, w, k=0):
    """Gradient; corners TL white, TR red, BL green, BR blue."""
    y, x = np.mgrid[0:h, 0:w]
    a = np.empty((h, w, 3), 'u1')
    a[..., 0] = 40 + x * 150 // max(1, w - 1)
    a[..., 1] = 40 + y * 150 // max(1, h - 1)
    a[..., 2] = 40 + (k * 29) % 170
    b = _corner(h, w)
    a[:b, :b] = (255, 255, 255)
    a[:b, -b:] = (255, 0, 0)
    a[-b:, :b] = (0, 255, 0)
    a[-b:, -b:] = (0, 0, 255)
    return a


def gray(h, w, k=0):
    """Gradient; corners TL 255, TR 160, BL 80, BR 0."""
    y, x = np.mgrid[0:h, 0:w]
    a = (30 + x * 90 // max(1, w - 1) + y * 60 // max(1, h - 1) + (k * 7) % 40).astype('u1')
    b = _corner(h, w)
    a[:b, :b] = 255
    a[:b, -b:] = 160
    a[-b:, :b] = 80
    a[-b:, -b:] = 0
    return a


def binary(h, w, k=0):
    """Bright L shape whose long arm is the left column, corner at top left."""
    a = np.zeros((h, w), bool)
    b = max(1, min(h, w) // 6)
    a[b:h - b, b:2 * b] = True
    a[b:2 * b, b:(w // 2) + k % 3] = True
    return a


def classes_mask(h, w, n=4, k=0):
    y, x = np.mgrid[0:h, 0:w]
    a = ((x * n // w) * (y >= h // 3)).astype('u1')
    a[0, 0] = n - 1
    return np.roll(a, k, axis=1) if k else a


def rgbs(n, h, w, k0=0):
    return np.stack([rgb(h, w, k0 + k) for k in range(n)])


def grays(n, h, w, k0=0):
    return np.stack([gray(h, w, k0 + k) for k in range(n)])


def g16(h, w, k=0):
    return gray(h, w, k).astype('u2') * 16 + k          # 12-bit range


def minmax_all(pics):
    """Reference min-max to 8 bit with one range for the whole dataset; non-finite -> 0, +inf -> 255."""
    pics = [np.asarray(p, 'f8') for p in pics]
    fin = [p[np.isfinite(p)] for p in pics]
    fin = np.concatenate([f.ravel() for f in fin]) if fin else np.zeros(0)
    lo, hi = (fin.min(), fin.max()) if fin.size else (0, 0)
    out = []
    for p in pics:
        o = np.zeros(p.shape, 'u1')
        ok = np.isfinite(p)
        if hi > lo:
            o[ok] = np.floor((p[ok] - lo) / (hi - lo) * 255 + 0.5)
        o[np.isposinf(p)] = 255
        out.append(o)
    return out


def minmax(a):
    return minmax_all([a])[0]


def linrange(a, lo, hi, missing=None):
    a = np.asarray(a, 'f8')
    v = np.floor(np.clip((a - lo) / (hi - lo), 0, 1) * 255 + 0.5)
    v[~np.isfinite(a)] = 0
    if missing is not None:
        v[missing] = 0
    return v.astype('u1')


def jpeg(a, q=95):
    b = io.BytesIO()
    Image.fromarray(a).save(b, 'JPEG', quality=q)
    return b.getvalue()


def png(a):
    b = io.BytesIO()
    Image.fromarray(a).save(b, 'PNG')
    return b.getvalue()


# ------------------------------------------------------------------ expectations
def sha(b):
    return hashlib.sha256(b).hexdigest()


def raster(a):
    """Canonical raster bytes of a PNG: row major, interleaved; 1-bit as 0/1
    bytes, 16-bit little endian."""
    a = np.asarray(a)
    if a.dtype == bool:
        a = a.astype('u1')
    if a.dtype.itemsize == 2:
        a = a.astype('<u2')
    return np.ascontiguousarray(a).tobytes()


def _points(h, w):
    p = [(0, 0), (w - 1, 0), (0, h - 1), (w - 1, h - 1), (w // 2, h // 2), (w // 3, h // 4)]
    out = []
    for q in p:
        if q not in out:
            out.append(q)
    return out


def E_img(path, pics, layout, norm, index=None, classes=None, names=None, rule='',
          note='', palette=False):
    """pics: list of display arrays (HxW / HxWxC; bool=1 bit, u1=8, u2=16)."""
    pics = [np.asarray(p) for p in pics]
    e = dict(path=path, kind='image', layout=layout, norm=norm, count=len(pics), rule=rule)
    if note:
        e['note'] = note
    if index is None:
        index = [[i] for i in range(len(pics))] if len(pics) != 1 or layout.startswith(('N', '[')) else [[]]
    e['sample_index'] = index if len(index) <= 40 else index[:40]
    shapes = {p.shape for p in pics}
    p0 = pics[0]
    depth = {'b': 1}.get(p0.dtype.kind, p0.dtype.itemsize * 8)
    if len(shapes) == 1:
        e['png'] = dict(width=p0.shape[1], height=p0.shape[0],
                        channels=1 if p0.ndim == 2 else p0.shape[2], bit_depth=depth)
        if palette:
            e['png']['color_type'] = 'palette'
    e['samples'] = []
    for i in sorted({0, len(pics) // 2, len(pics) - 1}):
        p = pics[i]
        h, w = p.shape[:2]
        e['samples'].append(dict(
            ordinal=i, index=index[i], width=w, height=h,
            raster_sha256=sha(raster(p)),
            pixels=[dict(x=x, y=y, v=[int(t) for t in np.atleast_1d(p[y, x])])
                    for x, y in _points(h, w)]))
    if classes is not None:
        e['classes'] = [int(c) if isinstance(c, (int, np.integer)) else c for c in classes]
        if names:
            e['class_names'] = names
            e['class_of_sample'] = [names[c] if isinstance(c, (int, np.integer)) and 0 <= c < len(names) else str(c)
                                    for c in e['classes']]
        else:
            e['class_of_sample'] = [str(c) for c in e['classes']]
    return e


def E_bytes(path, blobs, exts, note='', index=None, classes=None, names=None, decoded=None, rule='R2'):
    """Encoded images passed through byte for byte. decoded: (w,h,channels) list."""
    e = dict(path=path, kind='encoded', count=len(blobs), rule=rule,
             elements=[dict(index=(index[i] if index else [i]), ext=exts[i], size=len(b), sha256=sha(b))
                       for i, b in enumerate(blobs)])
    if decoded:
        for el, d in zip(e['elements'], decoded):
            el['decoded'] = dict(width=d[0], height=d[1], channels=d[2])
    if note:
        e['note'] = note
    if classes is not None:
        e['classes'] = list(classes)
        e['class_names'] = names
        e['class_of_sample'] = [names[c] if isinstance(c, int) and names else str(c) for c in classes]
    return e


def E_npy(path, arr, note='', role=None, rule=''):
    a = np.asarray(arr)
    if a.dtype == bool:
        a = a.copy()
    a = a.astype(a.dtype.newbyteorder('<')) if a.dtype.byteorder == '>' else a
    e = dict(path=path, kind='npy', shape=list(a.shape), descr=a.dtype.str,
             sha256=sha(np.ascontiguousarray(a).tobytes()))
    if a.size and a.dtype.kind in 'iufb':
        e['first'] = [x.item() if np.isfinite(float(x)) else str(x) for x in a.ravel()[:4]]
    if role:
        e['role'] = role
    if note:
        e['note'] = note
    if rule:
        e['rule'] = rule
    return e


def E_txt(path, text, note=''):
    return dict(path=path, kind='txt', text=text, **({'note': note} if note else {}))


def E_json(path, obj, note=''):
    return dict(path=path, kind='json', value=obj, **({'note': note} if note else {}))


def E_csv(path, header, rows, note=''):
    return dict(path=path, kind='csv', header=header, rows=rows, **({'note': note} if note else {}))


def E_link(path, ltype, target, note='', expect=''):
    return dict(path=path, kind='link', link=ltype, target=target, expect=expect, **({'note': note} if note else {}))


def E_misc(path, kind, note='', **kw):
    return dict(path=path, kind=kind, note=note, **kw)


# ------------------------------------------------------------------ h5 helpers
def u8(*s):
    return np.array(list(s), dtype=object)


def sarr(*s):
    return np.array([x.encode() for x in s])


def set_sattr(obj, name, text, how='fixed0'):
    """String attribute in one of the encodings found in real files."""
    b = text.encode()
    if how == 'fixed0':            # length n+1, NUL terminated (H5IM, C)
        t = h5py.h5t.C_S1.copy()
        t.set_size(len(b) + 1)
    elif how == 'fixedexact':      # length n, no terminator (numpy S)
        t = h5py.h5t.C_S1.copy()
        t.set_size(max(1, len(b)))
        t.set_strpad(h5py.h5t.STR_NULLPAD)
    elif how == 'space':           # Fortran
        t = h5py.h5t.FORTRAN_S1.copy()
        t.set_size(len(b) + 4)
        b = b + b' ' * 4
    elif how == 'vlen':
        obj.attrs[name] = text
        return
    elif how == 'array1':          # 1-element array (HDFView)
        obj.attrs.create(name, np.array([text.encode() + b'\0'], dtype='S%d' % (len(b) + 1)), shape=(1,))
        return
    sp = h5py.h5s.create(h5py.h5s.SCALAR)
    a = h5py.h5a.create(obj.id, name.encode(), t, sp)
    a.write(np.array(b, dtype='S%d' % t.get_size()), mtype=t)


def charattr(obj, name, text):
    """Imaris style: 1-D array of one-character strings."""
    obj.attrs[name] = np.array([c.encode() for c in text], dtype='S1')


# -------- third-party filter frames written by hand (valid for the real plugins)
def lz4_literal_block(data):
    n = len(data)
    out = bytearray()
    if n < 15:
        out.append(n << 4)
    else:
        out.append(0xF0)
        r = n - 15
        while r >= 255:
            out.append(255)
            r -= 255
        out.append(r)
    return bytes(out) + data


def bitshuffle(raw, es):
    n = len(raw) // es
    assert n % 8 == 0
    a = np.frombuffer(raw, 'u1').reshape(n, es)
    bits = np.unpackbits(a, axis=1, bitorder='little')          # n x es*8
    return np.packbits(bits.T, axis=1, bitorder='little').tobytes()


def frame_bslz4(raw, es):
    blk = 8192 // es // 8 * 8 * es
    out = len(raw).to_bytes(8, 'big') + blk.to_bytes(4, 'big')
    pos = 0
    while pos < len(raw):
        left = len(raw) - pos
        n = min(blk, left // (8 * es) * 8 * es)
        if n == 0:
            out += raw[pos:]
            break
        c = lz4_literal_block(bitshuffle(raw[pos:pos + n], es))
        out += len(c).to_bytes(4, 'big') + c
        pos += n
    return out


def frame_lz4(raw):
    blk = len(raw)
    return len(raw).to_bytes(8, 'big') + blk.to_bytes(4, 'big') + blk.to_bytes(4, 'big') + raw


def frame_blosc(raw, es):
    return bytes([2, 1, 0x2, es]) + len(raw).to_bytes(4, 'little') * 2 + (len(raw) + 16).to_bytes(4, 'little') + raw


def frame_zstd(raw):
    return subprocess.run(['zstd', '-q', '-c'], input=raw, stdout=subprocess.PIPE, check=True).stdout


def raw_chunk_dataset(f, name, arr, fid, cd, frame):
    arr = np.ascontiguousarray(arr)
    dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    dcpl.set_chunk((1,) + arr.shape[1:])
    dcpl.set_filter(fid, 1, cd)          # optional flag so it can be made without the plugin
    d = h5py.h5d.create(f.id, name.encode(), h5py.h5t.py_create(arr.dtype),
                        h5py.h5s.create_simple(arr.shape), dcpl)
    for k in range(arr.shape[0]):
        d.write_direct_chunk((k,) + (0,) * (arr.ndim - 1), frame(arr[k].tobytes()), 0)
    return f[name]


def describe(f):
    """Storage facts of every dataset (not following soft/external links)."""
    out = {}

    def walk(g, prefix, seen):
        try:
            names = list(g.id.__iter__())
        except Exception:
            return
        for nb in names:
            nm = nb.decode('utf-8', 'surrogateescape')
            p = prefix + '/' + nm
            li = g.id.links.get_info(nb)
            if li.type != h5py.h5l.TYPE_HARD:
                continue
            try:
                oid = h5py.h5o.open(g.id, nb)
            except Exception as ex:
                out[p] = dict(error=str(ex)[:80])
                continue
            if isinstance(oid, h5py.h5g.GroupID):
                ai = h5py.h5o.get_info(oid)
                if ai.addr in seen:
                    continue
                walk(h5py.Group(oid), p, seen | {ai.addr})
            elif isinstance(oid, h5py.h5d.DatasetID):
                d = h5py.Dataset(oid)
                try:
                    pl = oid.get_create_plist()
                    filt = [pl.get_filter(i)[0] for i in range(pl.get_nfilters())]
                    lay = {0: 'compact', 1: 'contiguous', 2: 'chunked', 3: 'virtual'}.get(pl.get_layout(), '?')
                    out[p] = dict(shape=None if d.shape is None else list(d.shape),
                                  maxshape=None if d.shape is None else list(d.maxshape),
                                  dtype=str(d.dtype) if d.dtype.kind != 'O' else str(h5py.h5t.check_dtype(vlen=d.dtype) or d.dtype),
                                  storage=lay, chunks=list(d.chunks) if d.chunks else None, filters=filt)
                except Exception as ex:
                    out[p] = dict(error=repr(ex)[:120])
    walk(f['/'], '', {h5py.h5o.get_info(f['/'].id).addr})
    return out


def dump_json(obj, path):
    with open(path, 'w') as fp:
        json.dump(obj, fp, indent=1, ensure_ascii=True, sort_keys=False)
        fp.write('\n')


# ------------------------------------------------------------------ non-image fall-backs
def _text(b):
    return b.decode('utf-8', 'surrogateescape') if isinstance(b, bytes) else b


def _py(v, base=None):
    """JSON-able value of one element (used for json expectations)."""
    if isinstance(v, bytes):
        return v.decode('utf-8', 'backslashreplace')
    if isinstance(v, np.ndarray):
        return [_py(x) for x in v]
    if isinstance(v, np.void) and v.dtype.names:
        return {n: _py(v[n]) for n in v.dtype.names}
    if isinstance(v, (np.void,)):
        return v.tobytes().hex()
    if isinstance(v, np.generic):
        v = v.item()
    if isinstance(v, float) and not np.isfinite(v):
        return str(v)
    if isinstance(v, complex):
        return [v.real, v.imag]
    return v


def auto_expect(f, path, d):
    """The rule K of RULES.md for a dataset that is not an image."""
    if d.shape is None:
        return dict(path=path, kind='null', auto=True)
    t = d.dtype
    si = h5py.check_string_dtype(t)
    vl = h5py.check_vlen_dtype(t)
    rf = h5py.check_ref_dtype(t)
    if si is not None:
        if d.shape == ():
            s = _text(d[()])
            kind = 'txt'
            try:
                if isinstance(json.loads(s), (dict, list)):
                    kind = 'json'
            except ValueError:
                pass
            return dict(path=path, kind=kind, text=s.encode('utf-8', 'backslashreplace').decode(), auto=True)
        vals = [_text(x) for x in d[...].ravel()]
        kind = 'json' if d.ndim > 1 else 'txt'
        if kind == 'txt':
            vals = [v.replace('\n', '\\n') for v in vals]
        return dict(path=path, kind=kind, lines=[v.encode('utf-8', 'backslashreplace').decode() for v in vals[:50]],
                    count=len(vals), auto=True)
    if rf is not None:
        return dict(path=path, kind='json', note='references as target paths', auto=True)
    if vl is not None:
        return dict(path=path, kind='json', value=[_py(x) for x in d[...].ravel()[:20]], auto=True)
    if t.kind == 'V' and t.names:
        flat = all(t[n].kind in 'iufbSO' and t[n].shape == () and not h5py.check_vlen_dtype(t[n]) for n in t.names)
        if d.ndim == 1 and flat:
            return dict(path=path, kind='csv', header=list(t.names),
                        rows=[[_py(r[n]) for n in t.names] for r in d[:20]], auto=True)
        return dict(path=path, kind='json', auto=True)
    if t.kind == 'V':
        return dict(path=path, kind='bin', size=int(d[...].nbytes), sha256=sha(np.asarray(d[...]).tobytes()), auto=True)
    if int(np.prod(d.shape)) > 5_000_000:
        return dict(path=path, kind='npy', shape=list(d.shape), descr=t.str, note='too large to hash', auto=True)
    try:
        a = d[...]
    except OSError as ex:
        return dict(path=path, kind='npy', shape=list(d.shape), descr=t.str, read_error=str(ex)[:80], auto=True)
    e = E_npy(path, a)
    if 'MATLAB_class' in d.attrs:
        e['fortran'] = True         # .npy says fortran_order: MATLAB's shape, the same bytes
    e['auto'] = True
    return e
