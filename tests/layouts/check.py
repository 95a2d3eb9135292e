#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Mount every layout file with h5fs and compare what is seen with expect.json.

usage: check.py [--h5fs PATH] [--files DIR] [--expect FILE] [--only GLOB] [-v]

Needs python3-h5py (to make the files), python3-numpy, python3-pil, fuse3; runs as root or as a user who may
mount. Prints one line for each file that is wrong (all its faults with -v), then 'N passed, N failed'.
Names are those of the README: a dataset D is D.npy, D.txt, D.csv, D.json, D.png, or a directory D/.
"""
import argparse
import csv
import errno
import fnmatch
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image

HERE = os.path.dirname(os.path.abspath(__file__))
IMAGE_EXT = ('.png', '.jpg', '.jpeg', '.bmp', '.tif', '.tiff', '.gif', '.webp', '.jp2')
RESERVED = IMAGE_EXT + ('.npy', '.txt', '.csv', '.json', '.bin', '.nrrd', '.by-class')


def sha(b):
    return hashlib.sha256(b).hexdigest()


def raster(path):
    """Decoded pixels as (height, width, channels, bit depth, bytes): 1-bit as 0/1 bytes, 16-bit little endian."""
    with open(path, 'rb') as f:
        head = f.read(33)
    depth, colour = head[24], head[25]
    im = Image.open(path)
    im.load()
    if colour == 3:
        im = im.convert('RGB')
        depth = 8
    if depth == 16 and colour == 2:            # Pillow reads 16-bit colour as 8-bit: decode by hand
        return raster_png16(path)
    a = np.asarray(im)
    if depth == 1:
        a = (a > 0).astype('u1')
    elif depth == 16:
        a = a.astype('<u2')
    if a.ndim == 2:
        a = a[:, :, None]
    return a.shape[0], a.shape[1], a.shape[2], depth, np.ascontiguousarray(a).tobytes()


def raster_png16(path):
    import struct
    import zlib
    data = open(path, 'rb').read()
    w, h, depth, colour = struct.unpack('>IIBB', data[16:26])
    ch = {0: 1, 2: 3, 4: 2, 6: 4}[colour]
    z, i = b'', 8
    while i < len(data):
        n, = struct.unpack('>I', data[i:i + 4])
        if data[i + 4:i + 8] == b'IDAT':
            z += data[i + 8:i + 8 + n]
        i += n + 12
    raw = zlib.decompress(z)
    bpp, stride = ch * 2, w * ch * 2
    out, prev, p = bytearray(), bytearray(stride), 0
    for _ in range(h):
        ft, row = raw[p], bytearray(raw[p + 1:p + 1 + stride])
        p += 1 + stride
        for k in range(stride):
            a = row[k - bpp] if k >= bpp else 0
            b = prev[k]
            c = prev[k - bpp] if k >= bpp else 0
            if ft == 1:
                row[k] = (row[k] + a) & 255
            elif ft == 2:
                row[k] = (row[k] + b) & 255
            elif ft == 3:
                row[k] = (row[k] + (a + b) // 2) & 255
            elif ft == 4:
                q = a + b - c
                pa, pb, pc = abs(q - a), abs(q - b), abs(q - c)
                row[k] = (row[k] + (a if pa <= pb and pa <= pc else b if pb <= pc else c)) & 255
        out += row
        prev = row
    return h, w, ch, 16, np.frombuffer(bytes(out), '>u2').astype('<u2').tobytes()


class Checker:
    def __init__(self, mnt, exp):
        self.mnt, self.exp, self.faults = mnt, exp, []

    def bad(self, where, what):
        self.faults.append('%s: %s' % (where, what))

    @staticmethod
    def shown(path):
        """HDF5 path as it is named in the mount: `.` and `..` escaped, a group's name never ends in a suffix of ours."""
        parts = ['%2E%2E' if p == '..' else '%2E' if p == '.' else p for p in path.split('/')]
        for k, p in enumerate(parts[:-1]):
            if p.endswith(RESERVED):
                head, _, tail = p.rpartition('.')
                parts[k] = head + '%2E' + tail
        return '/'.join(parts)

    def entry(self, d, suffix):
        """Path of D+suffix in the mount."""
        if 'name_hex' in d:                     # odd bytes: the root's children in odd_names.h5
            name = bytes.fromhex(d['name_hex'])
            if name in (b'.', b'..'):
                name = name.replace(b'.', b'%2E')
            else:
                name = re.sub(rb'%(?=[0-9A-F]{2})', b'%25', name)
            if len(name) + len(suffix) > 255:   # shortened: the full name is in an xattr
                return self.by_full_name(bytes.fromhex(d['name_hex']), suffix)
            return self.mnt + '/' + os.fsdecode(name) + suffix
        return self.mnt + self.shown(d['path']) + suffix

    def by_full_name(self, name, suffix):
        for n in os.listdir(self.mnt):
            p = os.path.join(self.mnt, n)
            try:
                if n.endswith(suffix) and os.getxattr(p, 'user.h5fs.name') == name:
                    return p
            except OSError:
                pass
        raise FileNotFoundError(2, 'no', '%.20s... (%d bytes)' % (os.fsdecode(name), len(name)))

    def children(self, d, index):
        """D/000003 or D/000001/000004 for a sample index."""
        return self.mnt + self.shown(d['path']) + ''.join('/%06d' % i for i in index)

    def run(self):
        for d in self.exp.get('datasets', []):
            fn = getattr(self, 'check_' + d['kind'], None)
            if fn is None:
                continue
            try:
                fn(d)
            except FileNotFoundError as e:
                self.bad(d['path'], 'missing %s' % os.path.relpath(e.filename or '?', self.mnt))
            except Exception as e:              # an unreadable entry is one fault, not the end of the run
                self.bad(d['path'], '%s: %s' % (type(e).__name__, e))
        return self.faults

    # ---- kinds

    def check_image(self, d):
        idx = d.get('sample_index') or []
        for s in d.get('samples', []):
            if s['index']:
                p = self.children(d, s['index']) + '.png'
            else:
                p = self.entry(d, '.png')
            size = os.stat(p).st_size
            if d.get('needs_filter'):           # listed all the same; readable only with the plugin
                try:
                    open(p, 'rb').read()
                except OSError as e:
                    if e.errno != errno.EIO:
                        self.bad(d['path'], 'missing filter gives %s, want EIO' % e.strerror)
                    continue
            if size != len(open(p, 'rb').read()):
                self.bad(d['path'], 'stat size %d is not what read returns' % size)
            h, w, c, depth, raw = raster(p)
            want = d['png']
            if (w, h) != (s.get('width', want['width']), s.get('height', want['height'])):
                self.bad(d['path'], 'sample %s is %dx%d, want %dx%d' % (s['index'], w, h, want['width'], want['height']))
            elif c != want['channels'] or depth != want['bit_depth']:
                self.bad(d['path'], 'sample %s has %d channels of %d bits, want %d of %d' % (
                    s['index'], c, depth, want['channels'], want['bit_depth']))
            elif sha(raw) != s['raster_sha256']:
                self.bad(d['path'], 'sample %s: wrong pixels%s' % (s['index'], self.first_wrong(raw, w, c, depth, s)))
        if idx and idx[0] and d.get('count', 0) <= 5000:
            top = self.mnt + self.shown(d['path'])
            seen = sum(len([f for f in fs if f.endswith('.png')]) for _, _, fs in os.walk(top))
            if seen != d['count']:
                self.bad(d['path'], '%d pictures listed, want %d' % (seen, d['count']))
        if 'class_of_sample' in d and idx and len(idx[0]) == 1:
            self.classes(d, idx)

    def classes(self, d, idx):
        base = self.mnt + self.shown(d['path']) + '.by-class'
        names = self.class_folders(d)
        want = set(names)
        have = set(os.listdir(base))
        if not want <= have:
            self.bad(d['path'], 'by-class lacks %s (has %s)' % (sorted(want - have)[:3], sorted(have)[:5]))
            return
        for i, c in zip(idx, names):
            a = self.children(d, i) + '.png'
            b = os.path.join(base, c, os.path.basename(a))
            if os.stat(a).st_ino != os.stat(b).st_ino:
                self.bad(d['path'], 'by-class/%s/%s is not the same inode' % (c, os.path.basename(a)))

    @staticmethod
    def class_folders(d):
        """Folder of each sample: names as they are, bare numbers zero-padded so that sorted order is label order."""
        c = d['class_of_sample']
        if not d.get('class_names') and all(re.fullmatch(r'-?\d+', x) for x in c):
            w = max(len(x.lstrip('-')) for x in c)
            return [('-' if x[0] == '-' else '') + x.lstrip('-').zfill(w) for x in c]
        return [x.replace('/', '%2F') for x in c]

    @staticmethod
    def first_wrong(raw, w, c, depth, s):
        a = np.frombuffer(raw, '<u2' if depth == 16 else 'u1')
        for p in s.get('pixels', []):
            o = (p['y'] * w + p['x']) * c
            v = a[o:o + c].tolist()
            if v != p['v']:
                return ': pixel (%d,%d) is %s, want %s' % (p['x'], p['y'], v, p['v'])
        return ''

    def check_encoded(self, d):
        for e in d.get('elements', []):
            if not e['ext']:
                if e['index'] and os.stat(self.children(d, e['index'])).st_size != e['size']:
                    self.bad(d['path'], 'element %s: want %d bytes under a name without suffix' % (e['index'], e['size']))
                continue
            if e['index']:
                p = self.children(d, e['index']) + '.' + e['ext']
            elif d['path'].lower().endswith(IMAGE_EXT):
                p = self.mnt + self.shown(d['path'])
            else:
                p = self.entry(d, '.' + e['ext'])
            b = open(p, 'rb').read()
            if sha(b) != e['sha256'] or os.stat(p).st_size != e['size']:
                self.bad(d['path'], 'element %s: not the stored bytes' % e['index'])

    def check_npy(self, d):
        p = self.entry(d, '.npy')
        if not os.path.exists(p):
            raise FileNotFoundError(2, 'no', p)
        if 'sha256' not in d:
            return
        a = np.load(p, allow_pickle=False)
        if d.get('fortran') and a.ndim > 1:
            if not a.flags.f_contiguous:
                self.bad(d['path'], 'MATLAB dataset: .npy is not in Fortran order')
            a = a.T
        if list(a.shape) != d['shape']:
            self.bad(d['path'], '.npy has shape %s, want %s' % (list(a.shape), d['shape']))
            return
        le = np.ascontiguousarray(a.astype(a.dtype.newbyteorder('<')) if a.dtype.kind in 'iufc' else a)
        if sha(le.tobytes()) != d['sha256']:
            self.bad(d['path'], '.npy has other values (dtype %s, want %s)' % (a.dtype, d['descr']))

    def check_txt(self, d):
        p = self.entry(d, '.txt')
        b = open(p, 'rb').read()
        if len(b) != os.stat(p).st_size:
            self.bad(d['path'], '.txt: stat size is not what read returns')
        text = b.decode('utf-8', 'surrogateescape').encode('utf-8', 'backslashreplace').decode()
        if 'text' in d and text != d['text']:
            self.bad(d['path'], '.txt is %r, want %r' % (text[:40], d['text'][:40]))
        if 'lines' in d:
            lines = text.split('\n')[:-1]
            if lines[:len(d['lines'])] != d['lines'] or len(lines) != d.get('count', len(lines)):
                self.bad(d['path'], '.txt lines %r, want %r' % (lines[:4], d['lines'][:4]))

    def check_json(self, d):
        p = self.entry(d, '.json')
        v = json.load(open(p, encoding='utf-8', errors='surrogateescape'))
        want = d.get('value', json.loads(d['text']) if 'text' in d else None)
        if want is not None and (v[:len(want)] if isinstance(v, list) and isinstance(want, list) else v) != want:
            self.bad(d['path'], '.json is %.60r, want %.60r' % (v, want))
        if 'lines' in d and self.flat(v)[:len(d['lines'])] != d['lines']:
            self.bad(d['path'], '.json is %.60r, want the strings %.60r' % (v, d['lines']))

    def flat(self, v):
        return [x for e in v for x in self.flat(e)] if isinstance(v, list) else [v]

    def check_csv(self, d):
        rows = list(csv.reader(open(self.entry(d, '.csv'), newline='', encoding='utf-8'), skipinitialspace=True))
        if 'header' in d and rows[0] != d['header']:
            self.bad(d['path'], '.csv header %s, want %s' % (rows[0], d['header']))
        want = [[self.cell(v) for v in r] for r in d.get('rows', [])]
        have = [[self.cell(v) for v in r] for r in rows[1:]]
        if want and have[:len(want)] != want:
            self.bad(d['path'], '.csv rows %s, want %s' % (have[:2], want[:2]))

    @staticmethod
    def cell(v):
        if isinstance(v, bool):
            return str(v).lower()
        s = str(v).strip()
        try:
            return repr(float(s))
        except ValueError:
            return s.lower() if s.lower() in ('true', 'false') else s

    def check_link(self, d):
        p = self.mnt + self.shown(d['path'])
        how = d['expect']
        names = [p] if os.path.lexists(p) else [
            os.path.join(os.path.dirname(p), n) for n in os.listdir(os.path.dirname(p))
            if n == os.path.basename(p) or n.startswith(os.path.basename(p) + '.')]
        if not names:
            self.bad(d['path'], 'link is not listed')
            return
        if d['link'] in ('soft', 'hard-cycle') or 'dangling' in how or 'refused' in how:
            for n in names:
                if not os.path.islink(n):
                    self.bad(d['path'], '%s is not a symbolic link' % os.path.basename(n))
                elif os.readlink(n).startswith('/') and ':' not in os.readlink(n):
                    self.bad(d['path'], 'symbolic link is absolute: %s' % os.readlink(n))
        elif not any(os.path.exists(n) for n in names):
            self.bad(d['path'], 'link does not resolve')


def mounted(path):
    return any(line.split()[4] == path for line in open('/proc/self/mountinfo'))


def unmount(path):
    if mounted(path):
        subprocess.run(['fusermount3', '-u', path], stderr=subprocess.DEVNULL)
    if mounted(path):
        subprocess.run(['umount', '-l', path], stderr=subprocess.DEVNULL)


def check_file(h5fs, path, exp, verbose):
    first = (exp.get('datasets') or [{}])[0]
    mnt = tempfile.mkdtemp(prefix='h5fs-layout-')
    try:
        try:
            r = subprocess.run([h5fs, '-o', 'ro', path, mnt], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, timeout=20)
        except subprocess.TimeoutExpired:
            return ['mount did not return in 20 s']
        err = r.stderr.decode('utf-8', 'replace').strip()
        if first.get('kind') == 'open_fails':
            if r.returncode != 1 or not err or len(err.splitlines()) > 2:
                return ['want exit 1 and one line (%s), got exit %d: %.80r' % (first.get('message'), r.returncode, err)]
            return []
        if r.returncode != 0:
            return ['mount failed (%d): %.100s' % (r.returncode, err)]
        return Checker(mnt, exp).run()
    finally:
        unmount(mnt)
        os.rmdir(mnt)


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument('--h5fs', default=shutil.which('h5fs') or 'build/h5fs')
    ap.add_argument('--files', help='folder of layout files (made in a temporary one if not given)')
    ap.add_argument('--expect', default=os.path.join(HERE, 'expect.json'))
    ap.add_argument('--only', default='*')
    ap.add_argument('-v', action='store_true')
    a = ap.parse_args()
    folder = a.files
    if not folder:
        folder = tempfile.mkdtemp(prefix='h5fs-layouts-')
        subprocess.run([sys.executable, os.path.join(HERE, 'make_layouts.py'), folder], check=True,
                       stdout=subprocess.DEVNULL)
    exp = json.load(open(a.expect))['files']
    good = wrong = 0
    for name in sorted(exp):
        if not fnmatch.fnmatch(name, a.only):
            continue
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            continue
        faults = check_file(a.h5fs, path, exp[name], a.v)
        if faults:
            wrong += 1
            print('%s: %s%s' % (name, faults[0], '' if len(faults) == 1 or a.v else ' (+%d more)' % (len(faults) - 1)))
            if a.v:
                for f in faults[1:]:
                    print('    ' + f)
        else:
            good += 1
    print('%d passed, %d failed' % (good, wrong))
    if not a.files:
        shutil.rmtree(folder)
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
