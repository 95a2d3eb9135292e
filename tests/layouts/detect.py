#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Reference implementation of RULES.md (for checking the rules, not for shipping).

detect.py FILE...            print the decision for every dataset
detect.py --check DIR EXPECT compare with expect.json
"""
import json
import os
import re
import sys

import h5py
import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import raster, sha

STRONG = set('''image images img imgs picture pictures pic pics photo photos frame frames rgb rgba bgr gray grey
grayscale pixel pixels patch patches slice slices recon reconstruction cam camera cameras view depth depths disparity
thumbnail mask masks seg segmentation segmap segmaps ct mri hu volume volumes vol scan scans video videos observation
observations radiance reflectance color colors colour colours infrared thermal'''.split())
SINGULAR = set('''image img picture pic photo frame rgb gray grey slice depth disparity mask seg segmap thumbnail radiance
reflectance recon reconstruction infrared thermal'''.split())
WEAK = set('x data input inputs lr hr raw sr y target label labels gt train test val obs main'.split())
NEG = set('''weight weights kernel bias gamma beta mean var std embedding embeddings embed emb feature
features feat feats logits logit score scores prob bbox bboxes bb box boxes coord coords coordinate coordinates pos position
positions pose poses keypoint keypoints landmarks point points cloud pointcloud xyz pc normal normals action actions state states
qpos qvel reward rewards done dones kspace theta time timestamp timestamps index idx indices ids token tokens text
onehot seq sequence latent latents factor factors attention attn audio mel spectrogram mfcc palette vertices faces mesh
joint joints force torque velocity hist histogram histograms param params optimizer grad proj conv bn fc linear norm mlp
matrix intrinsics extrinsics adjacency gram trace traces neighbors distances layers spike spikes quickdraw cov'''.split())
MASK = set('mask masks seg segmentation segmap segmaps label labels gt'.split())
LABEL = set('label labels y target targets class classes category categories ans answer answers gt digit digits'.split())
IMGTOK = set('x image images img imgs data inputs input patches frames jpegs jpeg pictures samples'.split())
CNAMES = ('list_classes', 'class_names', 'classnames', 'label_names', 'labels_names', 'classes', 'categories', 'names',
          'label_map', 'class_map', 'class_to_idx')
EXT = ('.png', '.jpg', '.jpeg', '.bmp', '.tif', '.tiff', '.gif', '.pgm', '.ppm', '.webp')
AX = {}
for k in 'y lat latitude height h row rows line lines y_um ydim':
    pass
for a, names in (('y', 'y lat latitude height h row rows line lines ydim'), ('x', 'x lon longitude width w col cols column columns xdim sample_x'),
                 ('c', 'c ch chan channel channels band bands rgb rgba color colour spectral')):
    for n in names.split():
        AX[n] = a


def toks(name):
    s = re.sub(r'([a-z0-9])([A-Z])', r'\1 \2', name)
    s = re.sub(r'([A-Za-z])(\d)', r'\1 \2', s)
    out = [t for t in re.split(r'[^A-Za-z]+', s.lower()) if t]
    return out + [e for t in out for e in ('image', 'images', 'img', 'imgs') if t != e and t.endswith(e)]


def sattr(obj, name):
    """String attribute in any encoding; scalar or one element; NUL/space trimmed."""
    try:
        v = obj.attrs[name]
    except Exception:
        return None
    if isinstance(v, np.ndarray):
        if v.size != 1:
            if v.dtype.kind == 'S' and v.dtype.itemsize == 1:
                return b''.join(v.ravel().tolist()).decode('latin-1')
            return None
        v = v.ravel()[0]
    if isinstance(v, (bytes, np.bytes_)):
        v = bytes(v).decode('utf-8', 'replace')
    return v.rstrip('\0 ') if isinstance(v, str) else None


def slist(v):
    if isinstance(v, (str, bytes)):
        return None
    v = np.atleast_1d(v)
    if v.dtype.kind in 'SO':
        return [x.decode() if isinstance(x, bytes) else str(x) for x in v.ravel()]
    return None


# ------------------------------------------------------------------ bytes


def magic(b):
    if b[:3] == b'\xff\xd8\xff':
        return 'jpg'
    if b[:8] == b'\x89PNG\r\n\x1a\n':
        return 'png'
    if b[:4] == b'GIF8':
        return 'gif'
    if b[:2] == b'BM' and len(b) >= 26 and int.from_bytes(b[2:6], 'little') <= len(b) and b[6:10] == b'\0\0\0\0':
        return 'bmp'
    if b[:4] in (b'II*\0', b'MM\0*'):
        return 'tif'
    if b[:4] == b'RIFF' and b[8:12] == b'WEBP':
        return 'webp'
    if b[:12] == b'\0\0\0\x0cjP  \r\n\x87\n' or b[:4] == b'\xff\x4f\xff\x51':
        return 'jp2'
    return None


def trim(b, ext):
    if ext == 'png':
        i = b.find(b'IEND')
        return b[:i + 8] if i > 0 else b
    if ext == 'webp':
        return b[:8 + int.from_bytes(b[4:8], 'little')]
    if ext == 'bmp':
        return b[:int.from_bytes(b[2:6], 'little')]
    if ext == 'jpg':
        i = b.rfind(b'\xff\xd9')
        return b[:i + 2] if i > 0 else b
    return b.rstrip(b'\0') if ext == 'jp2' else b


def byte_elements(d):
    """(list getter, n) when the dataset could hold encoded files."""
    t = d.dtype
    vl = h5py.check_vlen_dtype(t)
    si = h5py.check_string_dtype(t)
    if d.shape is None:
        return None
    if vl is not None and np.dtype(vl) in (np.dtype('u1'), np.dtype('i1')) and d.ndim <= 1:
        if d.ndim == 0:
            return (lambda i: np.asarray(d[()]).tobytes()), 0, ()
        return (lambda i: np.asarray(d[i]).tobytes()), d.shape[0], (0,)
    if si is not None and d.ndim <= 1:
        def g(i):
            v = d[()] if d.ndim == 0 else d[i]
            return v if isinstance(v, bytes) else str(v).encode('utf-8', 'surrogateescape')
        return g, (0 if d.ndim == 0 else d.shape[0]), (() if d.ndim == 0 else (0,))
    if t.kind == 'V' and t.names is None and t.subdtype is None and d.ndim <= 1:
        return (lambda i: np.asarray(d[()] if d.ndim == 0 else d[i]).tobytes()), (0 if d.ndim == 0 else d.shape[0]), (() if d.ndim == 0 else (0,))
    if t in (np.dtype('u1'), np.dtype('i1')) and d.ndim == 1 and d.shape[0] >= 16:
        return (lambda i: d[...].tobytes()), 0, ()
    if t == np.dtype('u1') and d.ndim == 2 and d.shape[1] >= 64:
        return (lambda i: d[i].tobytes()), d.shape[0], (0,)
    return None


# ------------------------------------------------------------------ dataset model


class Dec:
    """A decision."""

    def __init__(self, kind, rule, **kw):
        self.kind = kind
        self.rule = rule
        self.__dict__.update(kw)


class DS:
    def __init__(self, path, d, name, group, anc):
        self.path, self.d, self.name, self.group, self.anc = path, d, name, group, anc
        t = d.dtype
        self.shape = d.shape
        self.eff = d.shape
        self.sub = None
        self.enum = h5py.check_enum_dtype(t)
        self.base = t
        if t.subdtype is not None and d.shape is not None:           # T2
            self.base, s = t.subdtype
            self.eff = d.shape + s
            self.sub = 'array'
        elif t.kind == 'V' and t.names and d.shape is not None:      # T3
            low = [n.lower()[:1] if len(n) == 1 or n.lower() in ('red', 'green', 'blue', 'alpha') else n.lower() for n in t.names]
            if low in (['r', 'g', 'b'], ['r', 'g', 'b', 'a']) and len({t[n] for n in t.names}) == 1:
                self.base = t[0]
                self.eff = d.shape + (len(low),)
                self.sub = 'compound'
        self.numeric = self.base.kind in 'uifb' and self.eff is not None
        self.base = self.base.newbyteorder('=') if self.base.kind in 'uif' else self.base
        self.tok = toks(name)

    def read(self, sel=()):
        a = self.d[sel if sel != () else ...]
        if self.sub == 'compound':
            a = np.stack([a[n] for n in a.dtype.names], -1)
        return a


class Img:
    """Picture view: axis roles of the effective shape."""

    def __init__(self, ds, y, x, c, idx, layout, rule, crop=None):
        self.ds, self.y, self.x, self.c, self.idx, self.layout, self.rule = ds, y, x, c, list(idx), layout, rule
        self.flip = (False, False)
        self.palette = None
        self.invert = False
        self.crop = crop            # {axis: size}
        self.unsigned = False
        self.range = None
        self.fill = None
        self.norm = None
        self.splitc = False
        self.companion = False

    def dim(self, a):
        n = self.ds.eff[a]
        return min(n, self.crop[a]) if self.crop and a in self.crop else n

    def count(self):
        n = 1
        for a in self.idx:
            n *= self.dim(a)
        return n

    def index_of(self, k):
        dims = [self.dim(a) for a in self.idx]
        return [int(v) for v in np.unravel_index(k, dims)] if dims else []

    def fetch(self, k):
        ds = self.ds
        ix = self.index_of(k)
        nd = len(ds.shape)
        sel = [slice(None)] * nd
        post = {}
        for a, i in zip(self.idx, ix):
            if a < nd:
                sel[a] = i
            else:
                post[a] = i
        a = ds.read(tuple(sel))
        keep = [q for q in range(len(ds.eff)) if q not in self.idx or q in post]
        for q in sorted(post, reverse=True):
            a = np.take(a, post[q], axis=keep.index(q))
            keep.remove(q)
        order = [keep.index(self.y), keep.index(self.x)] + ([keep.index(self.c)] if self.c is not None else [])
        a = a.transpose(order)
        if self.crop:
            a = a[:self.dim(self.y), :self.dim(self.x)]
        if self.c is not None and a.shape[2] == 1:
            a = a[..., 0]
        if self.flip[0]:
            a = a[::-1]
        if self.flip[1]:
            a = a[:, ::-1]
        return a


# ------------------------------------------------------------------ file


class File:
    def __init__(self, path):
        try:
            self.f = h5py.File(path, 'r', locking=False)
        except OSError:
            self.f = h5py.File(path, 'r', swmr=True, locking=False)
        self.ds = {}
        self.groups = {}
        self.seen = {}
        self.walk(self.f['/'], '', [self.f['/']], ())
        self.model = self.is_model(self.f['/'])
        self.dec = {}
        for p in self.ds:
            self.dec[p] = self.safe(p, 1)
        for p in self.ds:                              # S7 companions need pass 1
            if self.dec[p].kind == 'none':
                c = self.companion(self.ds[p])
                if c:
                    self.dec[p] = c
        for p, d in self.dec.items():
            if d.kind == 'image':
                try:
                    self.norm(d.img)
                except OSError as ex:
                    d.error = str(ex)
                    d.img.norm = '?'

    def safe(self, p, n):
        try:
            return self.decide(self.ds[p])
        except OSError as ex:
            return Dec('none', 'EIO', error=str(ex))

    def walk(self, g, prefix, anc, addrs):
        self.groups[prefix or '/'] = g
        here = h5py.h5o.get_info(g.id)
        addrs = addrs + ((here.fileno, here.addr),)
        for nb in g.id:
            nm = nb.decode('utf-8', 'backslashreplace')
            p = prefix + '/' + nm
            li = g.id.links.get_info(nb)
            try:
                if li.type == h5py.h5l.TYPE_SOFT:
                    continue
                if li.type == h5py.h5l.TYPE_EXTERNAL:
                    fn = g.id.links.get_val(nb)[0].decode()
                    if os.path.isabs(fn) or '..' in fn.split('/'):
                        continue
                oid = h5py.h5o.open(g.id, nb)
            except Exception:
                continue
            info = h5py.h5o.get_info(oid)
            if isinstance(oid, h5py.h5g.GroupID):
                if (info.fileno, info.addr) in addrs:
                    continue
                if len(self.groups) < 5000:
                    self.walk(h5py.Group(oid), p, anc + [h5py.Group(oid)], addrs)
            elif isinstance(oid, h5py.h5d.DatasetID):
                try:
                    self.ds[p] = DS(p, h5py.Dataset(oid), nm, g, anc)
                except Exception as ex:
                    print('skip', p, ex, file=sys.stderr)

    # P2
    def is_model(self, root):
        for g in [root] + [root[k] for k in ('model_weights',) if isinstance(root.get(k), h5py.Group)]:
            a = set(g.attrs.keys())
            if a & {'model_config', 'layer_names', 'layer_names0', 'keras_version', 'weight_names'}:
                return True
        return isinstance(root.get('_layer_checkpoint_dependencies'), h5py.Group)

    def siblings(self, ds):
        pre = ds.path.rsplit('/', 1)[0]
        return [o for q, o in self.ds.items() if q != ds.path and q.rsplit('/', 1)[0] == pre]

    # ------------------------------------------------------------ decide
    def decide(self, ds):
        d = ds.d
        if ds.eff is None:
            return Dec('none', 'T1')
        # R1 explicit
        v = sattr(d, 'h5fs.layout')
        if v == 'none':
            return Dec('none', 'R1')
        # R2 encoded bytes
        be = byte_elements(d)
        if be:
            r = self.bytes_rule(ds, *be)
            if r:
                return r
        if sattr(d, 'CLASS') in ('PALETTE', 'DIMENSION_SCALE'):
            return Dec('none', 'R3')
        if not ds.numeric:
            return Dec('none', 'K')
        if any(n == 0 for n in ds.eff[1:]) or len(ds.eff) < 2:
            return Dec('none', 'K')
        # P2 model files
        if self.model or re.search(r'(^|/)vars/\d+$', ds.path):
            return Dec('none', 'P2')
        for rule in (self.d1_image_spec, self.d3_axes, self.d4_netcdf, self.d5_nexus, self.d6_nwb, self.p1_matlab,
                     self.p3_dx, self.p4_bdv, self.p5_imaris, self.p7_velox, self.p6_nxdata, self.structure):
            r = rule(ds)
            if r is False:
                return Dec('none', rule.__name__)
            if r is not None:
                self.orient(ds, r)
                return Dec('image', r.rule, img=r)
        return Dec('none', 'K')

    def bytes_rule(self, ds, get, n, shape):
        if shape == ():
            b = get(0)
            e = magic(b)
            return Dec('encoded', 'R2', items=[([], trim(b, e), e)]) if e else None
        probe = sorted({int(round(i * (n - 1) / 7)) for i in range(8)}) if n > 8 else range(n)
        ok = 0
        for i in probe:
            b = get(i)
            if not b:
                continue
            if not magic(b):
                return None
            ok += 1
        if not ok:
            return None
        items = []
        for i in range(n):
            b = get(i)
            e = magic(b)
            items.append(([i], trim(b, e) if e else b, e or ''))
        return Dec('encoded', 'R2', items=items)

    # D1
    def d1_image_spec(self, ds):
        d = ds.d
        if sattr(d, 'CLASS') != 'IMAGE' or not 2 <= len(ds.eff) <= 4:
            return None
        sub = sattr(d, 'IMAGE_SUBCLASS') or ''
        il = sattr(d, 'INTERLACE_MODE') or ''
        n = len(ds.eff)
        y = x = c = None
        idx = []
        if n == 2:
            y, x = 0, 1
        elif sub == 'IMAGE_TRUECOLOR' or (n == 4) or il in ('INTERLACE_PLANE', 'INTERLACE_LINE') or (not sub and ds.eff[-1] in (3, 4)):
            b = n - 3
            idx = list(range(b))
            if il == 'INTERLACE_PLANE':
                c, y, x = b, b + 1, b + 2
            elif il == 'INTERLACE_LINE':
                y, c, x = b, b + 1, b + 2
            else:
                y, x, c = b, b + 1, b + 2
                if ds.eff[c] not in (1, 3, 4) and ds.eff[b] in (1, 3, 4):
                    c, y, x = b, b + 1, b + 2
        else:
            idx, y, x = [0], 1, 2
        r = Img(ds, y, x, c, idx, 'IMAGE', 'D1')
        if sub == 'IMAGE_INDEXED' and 'PALETTE' in d.attrs:
            pr = np.atleast_1d(d.attrs['PALETTE'])
            if pr.dtype == object:
                pal = self.f[pr.ravel()[0]][...]
                if pal.ndim == 2 and pal.shape[1] == 3:
                    r.palette = pal.astype('u1')
        w = d.attrs.get('IMAGE_WHITE_IS_ZERO')
        r.invert = w is not None and int(np.ravel(w)[0]) == 1
        return r

    # D3
    def d3_axes(self, ds):
        d = ds.d
        n = len(ds.eff)
        names = None
        v = sattr(d, 'axistags')
        if v:
            try:
                names = [a['key'] for a in json.loads(v)['axes']]
            except (ValueError, KeyError):
                pass
        if names is None:
            lab = [d.dims[i].label for i in range(len(ds.shape))] if 'DIMENSION_LABELS' in d.attrs else None
            if lab and all(lab):
                names = lab
        for a in ('h5fs.layout', '_ARRAY_DIMENSIONS', 'axes', 'dims', 'dimension_order', 'data_format', 'dataformat', 'layout', 'image_layout'):
            if names is not None or a not in d.attrs:
                continue
            lst = slist(d.attrs[a])
            s = sattr(d, a)
            if lst:
                names = lst
            elif s:
                if s in ('channels_first', 'channels_last'):
                    s = {(4, 'channels_first'): 'NCHW', (4, 'channels_last'): 'NHWC', (3, 'channels_first'): 'CHW',
                         (3, 'channels_last'): 'HWC'}.get((n, s), '')
                if re.fullmatch(r'[A-Za-z]{2,7}', s or '') and len(s) == n:
                    names = list(s)
                elif s:
                    names = re.split(r'[:,\s]+', s)
        if names is None or len(names) != n:
            return None
        role = [AX.get(x.lower().strip(), AX.get(x.lower().split('_')[0], None)) for x in names]
        if role.count('y') != 1 or role.count('x') != 1:
            return False
        forced = sattr(d, 'h5fs.layout') is not None
        if not forced and min(ds.eff[role.index('y')], ds.eff[role.index('x')]) < 8:
            return False
        return self.from_roles(ds, role, ' '.join(names), 'R1' if forced else 'D3')

    def from_roles(self, ds, role, layout, rule):
        y, x = role.index('y'), role.index('x')
        c = role.index('c') if role.count('c') == 1 else None
        idx = [i for i in range(len(role)) if i not in (y, x, c)]
        isint = ds.base.kind in 'ub'
        if c is not None and ds.eff[c] not in ((1, 3, 4) if isint else (1, 3)):
            idx = sorted(idx + [c])
            c = None
        return Img(ds, y, x, c, idx, layout, rule)

    # D4
    def d4_netcdf(self, ds):
        d = ds.d
        if 'DIMENSION_LIST' not in d.attrs:
            return None
        names = []
        for dim in d.dims:
            try:
                names.append(dim[0].name.rsplit('/', 1)[-1] if len(dim) else '')
            except Exception:
                names.append('')
        role = [AX.get(x.lower(), AX.get(x.lower().split('_')[0], None)) for x in names]
        if role.count('y') == 1 and role.count('x') == 1:
            if ds.eff[role.index('y')] < 8 or ds.eff[role.index('x')] < 8:
                return False
            r = self.from_roles(ds, role, ' '.join(names), 'D4')
            if not ds.d.attrs.get('_FillValue') is None or 'scale_factor' in ds.d.attrs or len(role) == 2:
                r.rule = 'D4'
            return r
        return False if all(names) else None

    # D5
    def d5_nexus(self, ds):
        v = sattr(ds.d, 'interpretation')
        n = len(ds.eff)
        if v == 'image':
            return Img(ds, n - 2, n - 1, None, range(n - 2), 'NHW' if n == 3 else 'HW', 'D5')
        if v in ('rgb-image', 'rgba-image') and n >= 3:
            return Img(ds, n - 3, n - 2, n - 1, range(n - 3), 'HWC', 'D5')
        if v in ('scalar', 'spectrum', 'vertex', 'scaler'):
            return False
        return None

    # D6
    def d6_nwb(self, ds):
        own = sattr(ds.d, 'neurodata_type')
        par = sattr(ds.group, 'neurodata_type') if ds.name == 'data' else None
        n = len(ds.eff)
        if own in ('GrayscaleImage', 'RGBImage', 'RGBAImage') and n in (2, 3):
            return Img(ds, 0, 1, 2 if n == 3 else None, [], 'HWC' if n == 3 else 'HW', 'D6')
        if par in ('TwoPhotonSeries', 'OnePhotonSeries', 'ImageSeries') and n >= 3:
            return Img(ds, 1, 2, 3 if n == 4 and ds.eff[3] in (1, 3, 4) else None, [0] + ([3] if n == 4 and ds.eff[3] not in (1, 3, 4) else []), 'NHW', 'D6')
        if par:
            return False
        return None

    # P1
    def p1_matlab(self, ds):
        cls = sattr(ds.d, 'MATLAB_class')
        if cls is None:
            return None
        if cls not in ('uint8', 'uint16', 'int16', 'int32', 'single', 'double', 'logical', 'int8', 'uint32', 'int64', 'uint64') or \
                'MATLAB_empty' in ds.d.attrs:
            return False
        L = ds.eff[::-1]                                    # MATLAB order
        n = len(L)
        ev = self.evidence(ds)
        ax = lambda i: n - 1 - i                             # MATLAB axis -> HDF5 axis
        big = ds.base.itemsize == 1 or ds.base == np.dtype('u2')
        if n == 4 and L[2] in (1, 3) and min(L[:2]) >= 8 and (big or ev > 0):
            return Img(ds, ax(0), ax(1), ax(2), [ax(3)], 'MATLAB HWCN', 'P1')
        if n == 3 and L[2] == 3 and min(L[:2]) >= 8 and (big or ev > 1) and not self.stack_sibling(ds, L[2], L[0], L[1]):
            return Img(ds, ax(0), ax(1), ax(2), [], 'MATLAB HWC', 'P1')
        if n == 3 and min(L[:2]) >= 16 and (big and ev >= 0 or ev > 0):
            return Img(ds, ax(0), ax(1), None, [ax(2)], 'MATLAB HWN', 'P1')
        if n == 2 and min(L) >= 8 and max(L) <= 8 * min(L) and set(ds.tok) & SINGULAR and not set(ds.tok) & NEG:
            return Img(ds, ax(0), ax(1), None, [], 'MATLAB HW', 'P1')
        return False

    # P3
    def p3_dx(self, ds):
        g = ds.path.rsplit('/', 2)
        if len(g) >= 2 and re.match(r'exchange', g[-2] or '') and ds.name in ('data', 'data_white', 'data_dark') and len(ds.eff) == 3:
            return Img(ds, 1, 2, None, [0], 'theta y x', 'P3')
        return None

    # P4
    def p4_bdv(self, ds):
        if re.search(r'^/t\d{5}/s\d{2,}/\d+/cells$', ds.path) and len(ds.eff) == 3:
            r = Img(ds, 1, 2, None, [0], 'NHW', 'P4')
            r.unsigned = ds.base == np.dtype('i2')
            return r
        return None

    # P5
    def p5_imaris(self, ds):
        if re.search(r'/ResolutionLevel \d+/TimePoint \d+/Channel \d+/Data$', ds.path) and len(ds.eff) == 3:
            s = [sattr(ds.group, 'ImageSize' + k) for k in 'ZYX']
            crop = {i: int(v) for i, v in enumerate(s) if v and v.strip().isdigit()}
            return Img(ds, 1, 2, None, [0], 'NHW', 'P5', crop)
        return None

    # P7
    def p7_velox(self, ds):
        if re.search(r'^/Data/Image/[0-9a-f]{32}/Data$', ds.path) and len(ds.eff) == 3 and ds.base.kind in 'uif':
            return Img(ds, 0, 1, None, [2], 'YXN', 'P7')
        return None

    # P6
    def p6_nxdata(self, ds):
        g = ds.group
        if ds.base.kind in 'ui' and len(ds.eff) >= 3 and min(ds.eff[-2:]) >= 16:
            try:
                own = sattr(ds.d.parent, 'NX_class')
            except Exception:
                own = None
            if sattr(g, 'NX_class') == 'NXdata' or own == 'NXdata':
                n = len(ds.eff)
                return Img(ds, n - 2, n - 1, None, range(n - 2), 'NHW', 'P6')
        return None

    # ------------------------------------------------------------ structure
    def evidence(self, ds):
        """2 strong name, 1 weak, 0 none, -1 negative."""
        t = set(ds.tok)
        par = set(toks(ds.path.rsplit('/', 2)[-2])) if ds.path.count('/') > 1 else set()
        if t & NEG or par & {'layers', 'weights', 'policy', 'optimizer', 'vars'}:
            return -1
        if t & STRONG or ds.name.lower().endswith(EXT):
            return 2
        if par & STRONG and not t & WEAK:
            return 2
        if t & WEAK:
            return 1
        if par & {'lr', 'hr', 'sr'}:
            return 2
        return 0

    def grows(self, ds, ax):
        m = ds.d.maxshape
        return ax < len(m) and (m[ax] is None or m[ax] > ds.shape[ax])

    def label_len(self, ds, n):
        for o in self.siblings(ds):
            if o.eff is not None and set(o.tok) & LABEL and len(o.eff) >= 1 and o.eff[0] == n and int(np.prod(o.eff[1:])) == 1 and n > 0 and o.base.kind in 'iub':
                return True
        return False

    def stack_sibling(self, ds, n, h, w):
        """A sibling of rank >= 4 has n samples of size h x w."""
        for o in self.siblings(ds):
            if o.numeric and o.eff is not None and len(o.eff) >= 4:
                e = o.eff if sattr(o.d, 'MATLAB_class') is None else o.eff
                if e[0] == n and ((h, w) in (e[1:3], e[2:4]) or (w, h) in (e[1:3], e[2:4])):
                    return True
        return False

    def floats_ok(self, ds, probe):
        """unit / signed / byte range of the data (probed)."""
        lo, hi = probe
        return lo is not None and ((lo >= 0 and .5 <= hi <= 1) or (-1 <= lo <= -.5 and .5 <= hi <= 1) or (lo >= 0 and 128 <= hi <= 255))

    def onehot(self, ds, axis):
        """values 0/1, exactly one 1 along axis (probe of the first 64 rows)."""
        if ds.sub:
            return False
        a = ds.d[:64] if ds.shape[0] > 64 else ds.d[...]
        if a.dtype.kind not in 'uib' or a.size == 0 or a.max() > 1:
            return False
        return bool((a.sum(axis=axis) == 1).all())

    def structure(self, ds):
        S = ds.eff
        n = len(S)
        b = ds.base
        ev = self.evidence(ds)
        isu8 = b == np.dtype('u1') or b.kind == 'b'
        isu16 = b == np.dtype('u2')
        isint = b.kind in 'ui'
        isf = b.kind == 'f'
        if b.itemsize > 8:
            return None

        def chan(h, w, c):
            """May (h,w,c) be one picture with a channel axis?"""
            if c in (1, 3):
                if isu8:
                    return min(h, w) >= 4
                if isu16 or isint:
                    return min(h, w) >= 16 and ev >= (0 if isu16 else 1)
                if isf:
                    if ev < 0 or min(h, w) < 16:
                        return False
                    return ev >= 1 or (min(h, w) >= 32 and not (n == 4 and S[0] == S[1] <= 11) and self.floats_ok(ds, self.probe_range(ds)))
            return False
        if n >= 4:
            # S1
            if chan(S[-3], S[-2], S[-1]):
                lay = 'NHWC' if n == 4 else '[%d]HWC' % (n - 3)
                return Img(ds, n - 3, n - 2, n - 1, range(n - 3), lay, 'S1')
            if S[-1] == 4 and (isu8 or isu16) and min(S[-3:-1]) >= 8 and not self.onehot(ds, -1):
                return Img(ds, n - 3, n - 2, n - 1, range(n - 3), 'NHWC', 'S1')
            # S2
            if chan(S[-2], S[-1], S[-3]):
                return Img(ds, n - 2, n - 1, n - 3, range(n - 3), 'NCHW', 'S2')
            # S3
            if n == 4 and isu8 and S[2] in (1, 3) and min(S[:2]) >= 8 and S[0] == S[1]:
                return Img(ds, 0, 1, 2, [3], 'HWCN', 'S3')
            # S4
            h, w = S[-2:]
            if min(h, w) >= 16 and max(h, w) <= 2.5 * min(h, w) and not (S[-3] == S[-2] != S[-1]):
                if ((isu8 or isu16) and ev >= 0) or (ev >= 2 and (isf or isint)):
                    return Img(ds, n - 2, n - 1, None, range(n - 2), 'NTHW' if n == 4 else '[%d]HW' % (n - 2), 'S4')
            return None
        if n == 3:
            a0, a1, a2 = S
            stack_hint = self.grows(ds, 0) or self.label_len(ds, a0) or self.stack_sibling(ds, a0, a1, a2)
            pts = any(o.eff is not None and len(o.eff) == 3 and o.eff[:2] == S[:2] and set(o.tok) & {'points', 'xyz', 'pc', 'pointcloud', 'data'}
                      and o.base.kind == 'f' and o.eff[2] in (3, 6, 9) for o in self.siblings(ds))
            # S5a
            if a2 in (1, 3) and min(a0, a1) >= 8 and not stack_hint and not pts:
                if (isu8 and ev >= 0) or (isu16 and ev >= 0) or (ev >= 2 and min(a0, a1) >= 16 and (isf or isint)):
                    if not (a2 == 3 and isu8 and ev < 2 and max(a0, a1) > 16 * min(a0, a1)):
                        return Img(ds, 0, 1, 2, [], 'HWC', 'S5a')
            if a2 == 4 and (isu8 or isu16) and min(a0, a1) >= 8 and ev >= 2 and not stack_hint and not self.onehot(ds, -1):
                return Img(ds, 0, 1, 2, [], 'HWC', 'S5a')
            # S5b
            if a0 in (1, 3) and min(a1, a2) >= 8 and not stack_hint and (((isu8 or isu16) and ev >= 0) or (ev >= 2 and isf and min(a1, a2) >= 16)) \
                    and not set(ds.tok) & {'frames', 'slices', 'masks', 'labels', 'volume', 'stack', 'scan', 'recon', 'reconstruction', 'depths', 'segmaps', 'imgs', 'images',
                                           'clefts', 'ct', 'mri', 'vol', 'hu', 'patches'}:
                return Img(ds, 1, 2, 0, [], 'CHW', 'S5b')
            # S5c
            if a2 in (1, 3) or (a2 == 4 and not (isf and ev >= 2)):
                return None
            if min(a1, a2) < 8 and not (a0 == a1 and a0 >= 16):
                return None
            last = False
            ch = ds.d.chunks
            if self.grows(ds, 0):
                last = False
            elif self.grows(ds, 2):
                last = True
            elif ch and ch[0] == 1 and ch[1] > 1 and ch[2] > 1:
                last = False
            elif ch and ch[2] == 1 and ch[0] > 1 and ch[1] > 1:
                last = True
            elif self.label_len(ds, a0) and not self.label_len(ds, a2):
                last = False
            elif self.label_len(ds, a2) and not self.label_len(ds, a0):
                last = True
            elif a1 == a2:
                last = False
            elif a0 == a1:
                last = True
            else:
                asp = lambda p, q: max(p, q) <= 2.5 * min(p, q)
                last = asp(a0, a1) and not asp(a1, a2)
            h, w = (a0, a1) if last else (a1, a2)
            lim = 8 if ev >= 2 else 16
            ok = False
            if min(h, w) >= lim:
                if isu8 or isu16:
                    ok = ev >= 0 and not (isu8 and self.onehot(ds, -1))
                elif isint:
                    ok = ev >= 2
                elif isf:
                    if ev >= 2:
                        ok = True
                    elif ev == 1:
                        ok = h == w or (min(h, w) >= 64 and max(h, w) <= 2 * min(h, w))
                    else:
                        ok = h == w and min(h, w) >= 32 and self.floats_ok(ds, self.probe_range(ds)) and set(toks(ds.path)) & WEAK
            if not ok:
                return None
            return Img(ds, 0, 1, None, [2], 'HWN', 'S5c') if last else Img(ds, 1, 2, None, [0], 'NHW', 'S5c')
        if n == 2:
            h, w = S
            if min(h, w) < 8 or max(h, w) > 8 * min(h, w) or set(ds.tok) & NEG:
                return None
            ext = ds.name.lower().endswith(EXT)
            sing = bool(set(ds.tok) & SINGULAR)
            par = set(toks(ds.path.rsplit('/', 2)[-2])) if ds.path.count('/') > 1 else set()
            numbered = bool(par & (STRONG | {'lr', 'hr', 'sr'})) and bool(re.search(r'\d', ds.name))
            if ext or sing or numbered:
                return Img(ds, 0, 1, None, [], 'HW', 'S6')
        return None

    # S7
    def companion(self, ds):
        if not ds.numeric or ds.base.kind == 'c' or len(ds.eff) < 2:
            return None
        if self.dec[ds.path].rule not in ('K',):
            return None
        for o in self.siblings_or_cousins(ds):
            q = self.dec.get(o.path)
            if not q or q.kind != 'image' or q.img.companion or q.rule[:1] not in 'SP' or q.rule.startswith('P1'):
                continue
            im = q.img
            hw = (o.eff[im.y], o.eff[im.x])
            S = ds.eff
            if min(hw) < 8:
                continue
            if not im.idx:
                if len(S) == 2 and S == hw and not set(ds.tok) & {'matrix', 'gram', 'adjacency', 'cov'}:
                    r = Img(ds, 0, 1, None, [], 'HW', 'S7')
                elif len(S) == 3 and S[:2] == hw and S[2] in (1, 3) and not set(ds.tok) & {'points', 'xyz', 'pc', 'pointcloud'}:
                    r = Img(ds, 0, 1, 2, [], 'HWC', 'S7')
                else:
                    continue
            elif len(im.idx) == 1 and im.idx[0] == 0 and len(S) == 3 and S == (o.eff[0],) + hw and S[0] > 0:
                r = Img(ds, 1, 2, None, [0], 'NHW', 'S7')
            elif len(im.idx) == 1 and im.idx[0] == 0 and len(S) == 4 and S == (o.eff[0],) + hw + (1,):
                r = Img(ds, 1, 2, 3, [0], 'NHWC', 'S7')
            else:
                continue
            r.companion = True
            return Dec('image', 'S7', img=r)
        return None

    def siblings_or_cousins(self, ds):
        s = self.siblings(ds)
        m = re.match(r'(.*/volumes)/labels/[^/]+$', ds.path)        # CREMI: labels/ next to raw
        if m:
            s = s + [o for q, o in self.ds.items() if q == m.group(1) + '/raw']
        return s

    # ------------------------------------------------------------ orientation
    def orient(self, ds, r):
        o = (sattr(ds.d, 'DISPLAY_ORIGIN') or 'UL').upper()
        fy, fx = o[0] == 'L' and len(o) == 2, len(o) == 2 and o[1] == 'R'
        if o == 'UL':
            for g in ds.anc:
                if sattr(g, 'macros_image_convention') == 'opengl' and not fy:
                    fy = True
                    r.rule += '+O3'
        else:
            r.rule += '+O1'
        r.flip = (fy, fx)

    # ------------------------------------------------------------ normalisation
    def probe_range(self, ds, limit=64 << 20):
        if any(k == 0 for k in ds.eff):
            return None, None
        try:
            nb = int(np.prod(ds.eff)) * ds.base.itemsize
            if nb <= limit:
                a = ds.read()
            else:
                n = ds.shape[0]
                a = np.stack([ds.read((i,)) for i in sorted({int(round(k * (n - 1) / 15)) for k in range(16)})])
        except OSError:
            return None, None
        a = a[np.isfinite(a)] if a.dtype.kind == 'f' else a
        if a.size == 0:
            return None, None
        return float(a.min()), float(a.max())

    def whole(self, ds, limit=64 << 20):
        """Every value is a whole number; only ever said of a dataset that was scanned completely."""
        if int(np.prod(ds.eff)) * ds.base.itemsize > limit:
            return False
        a = ds.read()
        return bool(np.isfinite(a).all() and (a == np.floor(a)).all())

    def norm(self, r):
        ds = r.ds
        b = ds.base
        if r.palette is not None:
            r.norm = 'palette'
            return
        at = ds.d.attrs
        fill = at.get('_FillValue')
        r.fill = np.ravel(fill)[0] if fill is not None else None
        rng = None
        for k in ('IMAGE_MINMAXRANGE', 'valid_range', 'drange'):
            if k in at and np.size(at[k]) == 2:
                rng = [float(v) for v in np.ravel(at[k])]
                break
        if rng is None and 'valid_min' in at and 'valid_max' in at:
            rng = [float(np.ravel(at['valid_min'])[0]), float(np.ravel(at['valid_max'])[0])]
        packed = sattr(ds.d, '_Unsigned') in ('true', 'True')
        if b.kind == 'b' or sattr(ds.d, 'MATLAB_class') == 'logical':
            r.norm = 'binary' if r.c is None or ds.eff[r.c] == 1 else 'binary-rgb'
            return
        if r.unsigned:
            b = np.dtype('u2')
        if b in (np.dtype('u1'), np.dtype('u2')):
            r.norm = 'u8' if b.itemsize == 1 else 'u16'
            if r.invert:
                r.norm = 'inverted'
            return
        if rng and rng[1] > rng[0]:
            r.norm, r.range, r.packed = 'range', rng, packed
            return
        if b.kind in 'ui':
            n = int(np.prod(ds.eff))
            lo = hi = None
            if n and n * b.itemsize <= 64 << 20:
                a = ds.read()
                ok = np.ones(a.shape, bool)
                if r.fill is not None:
                    ok &= a != r.fill
                if b.kind == 'u' and b.itemsize >= 4:
                    ok &= a != np.iinfo(b).max
                if ok.any():
                    lo, hi = int(a[ok].min()), int(a[ok].max())
            else:
                lo, hi = self.probe_range(ds)
            r.range = (lo, hi)
            if lo is not None and lo >= 0 and hi <= 255:
                r.norm = 'int-u8'
            elif lo is not None and lo >= 0 and hi <= 65535 and not (b.itemsize >= 4 and hi > 65535):
                r.norm = 'int-u16'
            else:
                r.norm = 'int-minmax'
            return
        lo, hi = self.probe_range(ds)
        r.range = (lo, hi)
        mask = bool(set(ds.tok) & MASK)
        if lo is None:
            r.norm = 'float-minmax'
        elif lo >= 0 and 128 <= hi <= 255:
            r.norm = 'float-byte'
        elif lo >= 0 and hi <= 255 and (hi >= 2 or mask) and self.whole(ds):
            r.norm = 'float-whole'
        elif lo >= 0 and .5 <= hi <= 1:
            r.norm = 'float-unit'
        elif -1 <= lo <= -.5 and .5 <= hi <= 1:
            r.norm = 'float-signed'
        else:
            r.norm = 'float-minmax'

    def render(self, r, k):
        a = r.fetch(k)
        b = r.ds.base
        if r.norm == 'palette':
            return r.palette[np.minimum(a, len(r.palette) - 1)]
        if r.unsigned:
            a = a.view('u2') if a.flags.c_contiguous else np.ascontiguousarray(a).view('u2')
        if r.norm == 'binary':
            return a.astype(bool)
        if r.norm == 'binary-rgb':
            return (a != 0).astype('u1') * 255
        if r.norm in ('u8', 'u16'):
            return a.astype('u1' if r.norm == 'u8' else 'u2')
        if r.norm == 'inverted':
            return (np.iinfo(a.dtype).max - a).astype(a.dtype)
        miss = np.zeros(a.shape, bool)
        if r.fill is not None:
            miss |= a == r.fill
        if b.kind == 'u' and b.itemsize >= 4:
            miss |= a == np.iinfo(b).max
        if r.norm == 'range' and getattr(r, 'packed', False) and b.kind == 'i':
            a = a.view('u%d' % b.itemsize) if a.flags.c_contiguous else np.ascontiguousarray(a).view('u%d' % b.itemsize)
        v = a.astype('f8')
        if b.kind == 'f':
            fin = np.isfinite(v)
            pinf = np.isposinf(v)
        else:
            fin = np.ones(v.shape, bool)
            pinf = np.zeros(v.shape, bool)
        fin &= ~miss
        if r.norm == 'range':
            lo, hi = r.range
            o = np.clip((np.where(fin, v, lo) - lo) / (hi - lo), 0, 1) * 255
        elif r.norm == 'float-unit':
            o = np.clip(np.where(fin, v, 0), 0, 1) * 255
        elif r.norm == 'float-signed':
            o = (np.clip(np.where(fin, v, -1), -1, 1) + 1) / 2 * 255
        elif r.norm in ('float-byte', 'float-whole', 'int-u8'):
            o = np.clip(np.where(fin, v, 0), 0, 255)
        elif r.norm == 'int-u16':
            return np.clip(np.where(fin, v, 0), 0, 65535).astype('u2')
        else:
            o = np.zeros(v.shape)
            lo, hi = r.range if r.range else (None, None)
            if lo is not None:
                if hi > lo:
                    o[fin] = np.clip((v[fin] - lo) / (hi - lo), 0, 1) * 255
        o[~fin] = 0
        o[pinf] = 255
        return np.floor(o + .5).astype('u1')

    # ------------------------------------------------------------ labels
    def classes(self, path):
        dec = self.dec[path]
        ds = self.ds[path]
        if dec.kind == 'image':
            if not dec.img.idx:
                v = sattr(ds.d, 'label')
                return ([v], [v]) if v else (None, None)
            n = dec.img.dim(dec.img.idx[0])
            inner = dec.img.count() // n if n else 1
        else:
            if not dec.items or dec.items[0][0] == []:
                return None, None
            n, inner = len(dec.items), 1
        cand = []
        for o in self.siblings(ds):
            t = set(o.tok)
            if not t & LABEL or t & {'names', 'map', 'list', 'idx', 'index'} or o.eff is None or self.dec[o.path].kind == 'image':
                continue
            if not o.eff or o.eff[0] != n or n == 0:
                continue
            rest = sorted(set(o.tok) - LABEL)
            mine = sorted(set(ds.tok) - IMGTOK)
            cand.append((rest != mine, o.path, o))
        for bad, _, o in sorted(cand, key=lambda c: c[:2]):
            if bad and len([c for c in cand]) and set(o.tok) - LABEL and (set(o.tok) - LABEL) != (set(ds.tok) - IMGTOK):
                continue
            y = self.label_vector(o, n)
            if y is None:
                continue
            names = self.class_names(ds, o)
            return [v for v in y for _ in range(inner)], names
        return None, None

    def label_vector(self, o, n):
        si = h5py.check_string_dtype(o.d.dtype)
        if si is not None and o.d.ndim == 1:
            return [v.decode() if isinstance(v, bytes) else v for v in o.d[...]]
        if not o.numeric or o.base.kind == 'c':
            return None
        if int(np.prod(o.eff[1:])) == 1:
            a = o.d[...].reshape(-1)
            if a.dtype.kind == 'f':
                if not np.isfinite(a).all() or (a != np.floor(a)).any():
                    return None
            return [int(v) for v in a]
        if len(o.eff) == 2 and 2 <= o.eff[1] <= 100000:
            a = o.d[...]
            if ((a == 0) | (a == 1)).all() and (a.sum(axis=1) == 1).all():
                return [int(v) for v in a.argmax(axis=1)]
        return None

    def class_names(self, ds, o):
        if o.enum:
            m = {v: k for k, v in o.enum.items()}
            return [m.get(i, str(i)) for i in range(max(m) + 1)]
        if o.base.kind == 'b':
            return ['False', 'True']
        root = self.f['/']
        for obj in (o.d, ds.d, ds.group, root):
            for k in CNAMES:
                if k in obj.attrs:
                    lst = slist(obj.attrs[k])
                    s = sattr(obj, k)
                    if lst and len(lst) > 1:
                        return lst
                    if s:
                        try:
                            j = json.loads(s)
                        except ValueError:
                            continue
                        if isinstance(j, list):
                            return [str(x) for x in j]
                        if isinstance(j, dict):
                            if all(str(x).lstrip('-').isdigit() for x in j):
                                j = {v: int(k) for k, v in j.items()}
                            r = {int(v): k for k, v in j.items()}
                            return [r.get(i, str(i)) for i in range(max(r) + 1)]
        for g in (ds.group, root):
            for k in CNAMES:
                q = g.get(k) if k in g else None
                if isinstance(q, h5py.Dataset) and q.shape is not None and len(q.shape) == 1 and h5py.check_string_dtype(q.dtype) is not None:
                    return [v.decode() if isinstance(v, bytes) else v for v in q[...]]
        return None


# ------------------------------------------------------------------ check


def check(folder, exp):
    doc = json.load(open(exp))
    bad = n = 0

    def err(fn, p, msg):
        nonlocal bad
        bad += 1
        print('FAIL %-26s %-44s %s' % (fn, p, msg))
    for fn, rec in doc['files'].items():
        if any(e['kind'] == 'open_fails' for e in rec['datasets']):
            try:
                File(os.path.join(folder, fn))
                err(fn, '', 'opened')
            except OSError:
                n += 1
            continue
        F = File(os.path.join(folder, fn))
        want = {}
        for e in rec['datasets']:
            if e['kind'] in ('link',):
                continue
            want[e['path']] = e
        for p, e in want.items():
            if p not in F.dec:
                if e['kind'] in ('image', 'encoded'):
                    err(fn, p, 'not found')
                continue
            d = F.dec[p]
            n += 1
            if e['kind'] == 'image':
                if d.kind != 'image':
                    err(fn, p, 'missed (%s)' % d.rule)
                    continue
                r = d.img
                if e.get('needs_filter') and r.norm != '?':
                    try:
                        r.fetch(0)
                    except OSError:
                        if r.count() != e['count']:
                            err(fn, p, 'count')
                        continue
                if e.get('external_raw'):
                    os.chdir(folder)
                if r.count() != e['count']:
                    err(fn, p, 'count %d != %d (%s)' % (r.count(), e['count'], r.layout))
                    continue
                if r.norm != e['norm']:
                    err(fn, p, 'norm %s != %s' % (r.norm, e['norm']))
                if r.rule != e['rule'].replace('T2+', '').replace('T3+', ''):
                    err(fn, p, 'rule %s != %s' % (r.rule, e['rule']))
                for s in e['samples']:
                    try:
                        a = F.render(r, s['ordinal'])
                    except OSError as ex:
                        if not e.get('needs_filter'):
                            err(fn, p, 'read %s' % ex)
                        continue
                    if list(r.index_of(s['ordinal'])) != s['index']:
                        err(fn, p, 'index %s != %s' % (r.index_of(s['ordinal']), s['index']))
                    if a.shape[:2] != (s['height'], s['width']):
                        err(fn, p, 'size %s' % (a.shape,))
                        break
                    if sha(raster(a)) != s['raster_sha256']:
                        err(fn, p, 'pixels of sample %d: %s' % (s['ordinal'], [[int(t) for t in np.atleast_1d(a[q['y'], q['x']])] for q in s['pixels']][:4]))
                        break
                y, names = F.classes(p) if e['count'] < 10**6 else (None, None)
                w = e.get('class_of_sample')
                got = None if y is None else [names[c] if names and isinstance(c, int) and 0 <= c < len(names) else str(c) for c in y]
                if got != w:
                    err(fn, p, 'classes %s != %s' % (got, w))
            elif e['kind'] == 'encoded':
                if d.kind != 'encoded':
                    err(fn, p, 'missed encoded (%s %s)' % (d.kind, d.rule))
                    continue
                got = [(len(b), sha(b), x) for _, b, x in d.items]
                if got != [(q['size'], q['sha256'], q['ext']) for q in e['elements']]:
                    err(fn, p, 'bytes differ')
                y, names = F.classes(p)
                w = e.get('class_of_sample')
                got = None if y is None else [names[c] if names and isinstance(c, int) and 0 <= c < len(names) else str(c) for c in y]
                if got != w:
                    err(fn, p, 'classes %s != %s' % (got, w))
            elif d.kind in ('image', 'encoded'):
                err(fn, p, 'FALSE POSITIVE %s %s %s' % (d.kind, d.rule, getattr(d, 'img', None) and d.img.layout))
        for p, d in F.dec.items():
            if p not in want and d.kind != 'none' and not rec.get('datasets_note') and fn != 'links.h5':
                err(fn, p, 'unlisted %s' % d.kind)
    print('%d checks, %d failures' % (n, bad))
    return bad


def show(paths):
    for q in paths:
        print('##', q)
        try:
            F = File(q)
        except OSError as ex:
            print('   cannot open:', str(ex)[:150])
            continue
        for p, d in F.dec.items():
            s = F.ds[p]
            if d.kind == 'image':
                r = d.img
                y, nm = F.classes(p)
                print('  IMG  %-40s %-22s %-8s %-12s n=%d %s %s %s' % (p, s.eff, s.base, r.layout, r.count(), r.norm, r.rule, ('classes=%s %s' % (sorted(set(map(str, y)))[:6], nm)) if y else ''))
            elif d.kind == 'encoded':
                print('  ENC  %-40s %s n=%d' % (p, s.shape, len(d.items)))
            else:
                print('   -   %-40s %-22s %s %s' % (p, s.shape, str(s.d.dtype)[:30], d.rule))


if __name__ == '__main__':
    if sys.argv[1] == '--check':
        sys.exit(1 if check(os.path.abspath(sys.argv[2]), sys.argv[3]) else 0)
    show(sys.argv[1:])
