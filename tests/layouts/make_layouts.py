#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes one tiny synthetic HDF5 file per real-world layout, and expect.json.

usage: make_layouts.py OUTDIR [EXPECT.json]
Content is deterministic. Sources of each layout are named in the decorator.
"""
import json
import os
import shutil
import sys

import h5py
import numpy as np
from h5py import h5d, h5p, h5s, h5t

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import *           # noqa: F401,F403
from lib import REG, layout

_h5d_create = h5d.create


def _create_notimes(loc, name, tid, space, dcpl=None, *a, **k):
    """No timestamps, so that the files are byte-identical on every run."""
    dcpl = dcpl or h5p.create(h5p.DATASET_CREATE)
    dcpl.set_obj_track_times(False)
    return _h5d_create(loc, name, tid, space, dcpl, *a, **k)


h5d.create = _create_notimes
VSTR = h5py.string_dtype()
CATN = ['non-cat', 'cat']

# =====================================================================  A. ML image stacks


@layout('pcam_x.h5', 'pathology patches', 'basveeling/pcam README.md (camelyonpatch_level_2_split_*_x.h5)')
def _(f):
    p = rgbs(4, 96, 96)
    f.create_dataset('x', data=p, chunks=(1, 96, 96, 3), compression='gzip')
    return [E_img('/x', p, 'NHWC', 'u8', rule='S1', note='labels live in another file: no class view')]


@layout('pcam_y.h5', 'pathology patches', 'basveeling/pcam (y (N,1,1,1) u1)')
def _(f):
    f['y'] = np.array([0, 1, 1, 0], 'u1').reshape(4, 1, 1, 1)
    return []


@layout('catvnoncat_train.h5', 'Coursera cats', 'arunishkumar/image-classifier lr_utils.py; real file checked')
def _(f):
    p = rgbs(6, 64, 64)
    y = np.array([0, 0, 1, 0, 1, 1])
    f['list_classes'] = np.array([b'non-cat', b'cat'])
    f['train_set_x'] = p
    f['train_set_y'] = y
    return [E_img('/train_set_x', p, 'NHWC', 'u8', classes=y, names=CATN, rule='S1')]


@layout('galaxy10.h5', 'astronomy', 'henrysky/astroNN datasets/galaxy10 (images, ans; DECaLS adds ra, dec, redshift, pxscale)')
def _(f):
    p = rgbs(4, 69, 69)
    f['images'] = p
    f['ans'] = np.array([0, 9, 3, 3], 'u1')
    for n in ('ra', 'dec', 'redshift', 'pxscale'):
        f[n] = np.linspace(1, 2, 4)
    return [E_img('/images', p, 'NHWC', 'u8', classes=[0, 9, 3, 3], rule='S1')]


@layout('3dshapes.h5', 'disentanglement', 'deepmind/3d-shapes (images (480000,64,64,3) u8, labels (480000,6) f8)')
def _(f):
    p = rgbs(5, 64, 64)
    f['images'] = p
    f['labels'] = np.linspace(0, 1, 30).reshape(5, 6)
    return [E_img('/images', p, 'NHWC', 'u8', rule='S1', note='labels are 6 float factors: NOT classes')]


@layout('mpi3d.h5', 'disentanglement', 'mpi3d factor-shaped array (6,6,2,3,3,40,40,64,64,3) kept as rank 10')
def _(f):
    lead = (1, 2, 1, 1, 1, 1, 3)
    p = rgbs(6, 32, 32)
    f['images'] = p.reshape(lead + (32, 32, 3))
    idx = [list(map(int, np.unravel_index(i, lead))) for i in range(6)]
    return [E_img('/images', p, '[7]HWC', 'u8', index=idx, rule='S1')]


@layout('so2sat.h5', 'remote sensing', 'torchgeo So2Sat; xdu-jjgs/173-scene-classification (sen1 (N,32,32,8), sen2 (N,32,32,10) f8, label (N,17))')
def _(f):
    r = np.random.RandomState(0)
    f['sen1'] = r.randn(3, 32, 32, 8)
    f['sen2'] = r.rand(3, 32, 32, 10) * 2.8
    f['label'] = np.eye(17)[[2, 16, 0]]
    return [E_npy('/sen1', f['sen1'][...], note='8 SAR bands: not a picture'),
            E_npy('/sen2', f['sen2'][...], note='10 bands: not a picture; -o bands=2,1,0 gives true colour')]


@layout('eurosat_bands.h5', 'remote sensing', 'EuroSAT/BigEarthNet converted to h5: (N,64,64,13) u2, (N,12,H,W) f4, one-hot')
def _(f):
    r = np.random.RandomState(1)
    f['images'] = r.randint(0, 10000, (2, 64, 64, 13)).astype('u2')
    f['s2_chw'] = r.rand(2, 12, 24, 24).astype('f4')
    p = rgbs(2, 64, 64)
    f['rgb'] = p
    f['label'] = np.eye(10, dtype='f4')[[7, 1]]
    f['class_names'] = np.array([b'AnnualCrop', b'Forest', b'HerbaceousVegetation', b'Highway', b'Industrial',
                                 b'Pasture', b'PermanentCrop', b'Residential', b'River', b'SeaLake'])
    names = [x.decode() for x in f['class_names'][...]]
    return [E_img('/rgb', p, 'NHWC', 'u8', classes=[7, 1], names=names, rule='S1')]


@layout('mnist.h5', 'digits', 'common h5 MNIST conversions: grouped splits, 28x28 u8, plus flattened (N,784)')
def _(f):
    out = []
    for s, n in (('train', 5), ('test', 2)):
        p = grays(n, 28, 28)
        f[s + '/images'] = p
        f[s + '/labels'] = np.arange(n)
        out.append(E_img('/%s/images' % s, p, 'NHW', 'u8', classes=range(n), rule='S5c'))
    f['x_flat'] = grays(3, 28, 28).reshape(3, 784)
    f['images_flat'] = grays(40, 28, 28).reshape(40, 784)
    return out


@layout('mnist_hwn.h5', 'digits', 'column-major exports without MATLAB_class: (28,28,N) u8 and SVHN-like (32,32,3,N)')
def _(f):
    p = grays(40, 28, 28)
    q = rgbs(9, 32, 32)
    f['train_images'] = p.transpose(1, 2, 0)
    f['train_labels'] = np.arange(40) % 10
    f['X'] = q.transpose(1, 2, 3, 0)
    f['y'] = np.arange(9).reshape(9, 1) + 1
    return [E_img('/train_images', p, 'HWN', 'u8', classes=np.arange(40) % 10, rule='S5c'),
            E_img('/X', q, 'HWCN', 'u8', classes=np.arange(9) + 1, rule='S3')]


@layout('cifar_float01.h5', 'classification', 'Chainer/Caffe style (N,3,32,32) f4 in [0,1] with one-hot y')
def _(f):
    p = rgbs(4, 32, 32)
    f['X'] = (p / 255.0).astype('f4').transpose(0, 3, 1, 2)
    f['y'] = np.eye(10, dtype='f4')[[3, 0, 9, 3]]
    return [E_img('/X', p, 'NCHW', 'float-unit', classes=[3, 0, 9, 3], rule='S2')]


@layout('gan_signed.h5', 'GAN training', 'tanh-range images (N,64,64,3) f4 in [-1,1]')
def _(f):
    p = rgbs(3, 64, 64)
    f['images'] = (p / 127.5 - 1).astype('f4')
    return [E_img('/images', p, 'NHWC', 'float-signed', rule='S1')]


@layout('srcnn_train.h5', 'super-resolution', 'yjn870/SRCNN-pytorch prepare.py train(): lr, hr (N,33,33) f4 0..255')
def _(f):
    p, q = grays(4, 33, 33), grays(4, 33, 33, 11)
    f['lr'] = p.astype('f4')
    f['hr'] = q.astype('f4')
    return [E_img('/lr', p, 'NHW', 'float-byte', rule='S5c'), E_img('/hr', q, 'NHW', 'float-byte', rule='S5c')]


@layout('caffe_store2hdf5.h5', 'super-resolution', 'generate_train.m + store2hdf5 (wangxuewen99, kritiksoman/GIMP-ML): MATLAB h5create reverses dims, no MATLAB_class',
        note='The picture really is transposed: nothing in the file says so. Shown as stored; user sets -o transpose.')
def _(f):
    p = grays(5, 41, 41)
    f.create_dataset('data', data=(p / 255.0).astype('f4').transpose(0, 2, 1)[:, None], chunks=(5, 1, 41, 41), maxshape=(None, 1, 41, 41))
    q = grays(5, 41, 41, 3)
    f.create_dataset('label', data=(q / 255.0).astype('f4').transpose(0, 2, 1)[:, None], chunks=(5, 1, 41, 41), maxshape=(None, 1, 41, 41))
    return [E_img('/data', p.transpose(0, 2, 1), 'NCHW', 'float-unit', rule='S2', note='transposed by origin'),
            E_img('/label', q.transpose(0, 2, 1), 'NCHW', 'float-unit', rule='S2', note='transposed by origin')]


@layout('atari_framestack.hdf5', 'RL', 'Atari/D4RL-style replay: observations (N,4,84,84) u8 frame stack')
def _(f):
    p = np.stack([gray(84, 84, k) for k in range(12)]).reshape(3, 4, 84, 84)
    f['observations'] = p
    f['actions'] = np.array([0, 3, 1], 'i4')
    f['rewards'] = np.zeros(3, 'f4')
    f['terminals'] = np.array([False, False, True])
    return [E_img('/observations', list(p.reshape(12, 84, 84)), 'NTHW', 'u8',
                  index=[[i, j] for i in range(3) for j in range(4)], rule='S4', note='4 planes are frames, not RGBA')]


@layout('moving_mnist.h5', 'video', 'Moving MNIST (20,10000,64,64) and h5 copies of it (MarcoVela/NowcastingHuascaran); (N,T,H,W,C) videos')
def _(f):
    p = grays(40, 32, 32)
    f['moving_mnist'] = p.reshape(8, 5, 32, 32)
    q = rgbs(6, 32, 32)
    f['videos'] = q.reshape(2, 3, 32, 32, 3)
    return [E_img('/moving_mnist', list(p), 'NTHW', 'u8', index=[[i, j] for i in range(8) for j in range(5)], rule='S4'),
            E_img('/videos', list(q), '[2]HWC', 'u8', index=[[i, j] for i in range(2) for j in range(3)], rule='S1')]


@layout('bair_shard.hdf5', 'video', 'edenton/svg-derived h5.py HDF5Maker: /<video>/<frame> u8 (64,64,3), len/<video>')
def _(f):
    out = []
    for v in range(2):
        for t in range(3):
            p = rgb(64, 64, 3 * v + t)
            f['%d/%d' % (v, t)] = p
            out.append(E_img('/%d/%d' % (v, t), [p], 'HWC', 'u8', index=[[]], rule='S5a'))
        f['len/%d' % v] = 3
    return out


@layout('cxr16.h5', 'radiology', 'PadChest/MIMIC style u2 images (N,H,W) 12 bit and PadChest one-per-name 2-D u2')
def _(f):
    p = np.stack([g16(64, 48, k) for k in range(3)])
    f['images'] = p
    q = g16(40, 56, 5)
    f['byname/216840111366964012768025509942010.png'] = q
    return [E_img('/images', list(p), 'NHW', 'u16', rule='S5c'),
            E_img('/byname/216840111366964012768025509942010.png', [q], 'HW', 'u16', index=[[]], rule='S6')]


@layout('seg_pairs.h5', 'segmentation', 'U-Net style: images (N,H,W,3) u8, masks (N,H,W) i8/(N,H,W,1) bool, labels (N,H,W) u1')
def _(f):
    p = rgbs(3, 48, 64)
    m = np.stack([classes_mask(48, 64, 4, k) for k in range(3)])
    b = np.stack([binary(48, 64, k) for k in range(3)])
    f['images'] = p
    f['masks'] = m.astype('i8')
    f['fg'] = b[..., None]
    f['labels'] = m
    f['depth_m'] = (grays(3, 48, 64) / 25.0).astype('f4')
    return [E_img('/images', p, 'NHWC', 'u8', rule='S1', note='labels (N,H,W) is a mask, not classes'),
            E_img('/masks', list(m), 'NHW', 'int-u8', rule='S5c'),
            E_img('/fg', list(b), 'NHWC', 'binary', rule='S1'),
            E_img('/labels', list(m), 'NHW', 'u8', rule='S5c'),
            E_img('/depth_m', minmax_all([x for x in f['depth_m'][...]]), 'NHW', 'float-minmax', rule='S5c',
                  note='metres 0..10.2: not byte range')]


# =====================================================================  B. encoded images
PIC = [rgb(24, 32, k) for k in range(4)]


@layout('vlen_jpeg.h5', 'encoded', 'pplntech/TRN-pytorch jpegs[]; "h5py vlen uint8 jpeg": images vlen u8 + labels')
def _(f):
    d = f.create_dataset('images', (5,), dtype=h5py.vlen_dtype('u1'), maxshape=(None,), chunks=(2,))
    blobs = [jpeg(PIC[0]), jpeg(PIC[1]), png(PIC[2]), b'', jpeg(PIC[3])]
    for i, b in enumerate(blobs):
        d[i] = np.frombuffer(b, 'u1')
    f['labels'] = np.array([0, 1, 1, 0, 1])
    f['labels'].attrs['label_names'] = np.array(['cat', 'dog'], dtype=VSTR)
    return [E_bytes('/images', blobs, ['jpg', 'jpg', 'png', '', 'jpg'], classes=[0, 1, 1, 0, 1], names=['cat', 'dog'],
                    note='element 3 is empty: missing sample, listed with size 0')]


@layout('flowers_t2i.hdf5', 'encoded', 'aelnouby/Text-to-Image-Synthesis convert_flowers_to_hd5_script.py: img = np.void(JPEG) opaque scalar')
def _(f):
    out = []
    for i, cls in ((1, 'class_00077'), (2, 'class_00001')):
        for c in range(2):
            g = f.create_group('train/image_%05d_%d' % (i, c))
            b = jpeg(PIC[i])
            g['name'] = 'image_%05d' % i
            g['img'] = np.void(b)
            g['embeddings'] = np.linspace(-1, 1, 1024).astype('f4')
            g['class'] = cls
            g.create_dataset('txt', data='the flower has petals that are bright\n', dtype=VSTR)
            out.append(E_bytes('/train/image_%05d_%d/img' % (i, c), [b], ['jpg'], index=[[]]))
    return out


@layout('aloha_compressed.hdf5', 'encoded/robotics', 'ALOHA compressed episodes: images/<cam> (T,padded_len) u8 JPEG + compress_len (ncam,T) [name from memory]; act record root attrs')
def _(f):
    f.attrs['sim'] = False
    f.attrs['compress'] = True
    out = []
    L = np.zeros((2, 3), 'f4')
    for ci, cam in enumerate(('cam_high', 'cam_left_wrist')):
        blobs = [jpeg(rgb(24, 32, 5 * ci + t)) for t in range(3)]
        m = max(map(len, blobs)) + 7
        a = np.zeros((3, m), 'u1')
        for t, b in enumerate(blobs):
            a[t, :len(b)] = np.frombuffer(b, 'u1')
            L[ci, t] = len(b)
        f.create_dataset('observations/images/' + cam, data=a, chunks=(1, m))
        out.append(E_bytes('/observations/images/' + cam, blobs, ['jpg'] * 3, note='padding removed'))
    f['compress_len'] = L
    f['observations/qpos'] = np.zeros((3, 14), 'f4')
    f['observations/qvel'] = np.zeros((3, 14), 'f4')
    f['action'] = np.zeros((3, 14), 'f4')
    return out


@layout('robotwin.hdf5', 'encoded/robotics', 'RoboTwin-Platform/RoboTwin envs/utils/pkl2hdf5.py: fixed-length S<n> strings holding JPEG, R/B swapped by cv2 (issue 473)')
def _(f):
    blobs = [jpeg(np.ascontiguousarray(rgb(24, 32, t)[..., ::-1])) for t in range(3)]
    m = max(map(len, blobs))
    f.create_dataset('observation/head_camera/rgb', data=np.array(blobs, dtype='S%d' % m))
    f['observation/head_camera/intrinsic_cv'] = np.tile(np.eye(3, dtype='f4'), (3, 1, 1))
    f['joint_action/vector'] = np.zeros((3, 14))
    f['endpose/left_gripper'] = np.zeros(3)
    return [E_bytes('/observation/head_camera/rgb', blobs, ['jpg'] * 3,
                    note='string type, JPEG inside; bytes passed through unchanged (colours are swapped in the file itself)')]


@layout('imagenet_groups.h5', 'encoded', 'class-per-group ImageNet h5 loaders: /<wnid>/<file>.JPEG 1-D u8')
def _(f):
    out = []
    for c in ('n01440764', 'n01443537'):
        for i in range(2):
            b = jpeg(rgb(20, 28, i))
            p = '/%s/%s_%d.JPEG' % (c, c, 10026 + i)
            f[p] = np.frombuffer(b, 'u1')
            out.append(E_bytes(p, [b], ['jpg'], index=[[]], note='name already ends in an image extension: no second one'))
    return out


@layout('bytes_variants.h5', 'encoded', 'i1 bytes, scalar S<n> (blade6570 blog), opaque vector, 2-D u8 PNG padded, GIF/BMP/TIFF/WebP magics, 1-D u8 CLASS=IMAGE (silx-kit/vscode-h5web#27)')
def _(f):
    import io as _io
    from PIL import Image as I
    j, p = jpeg(PIC[0]), png(PIC[1])
    out = []
    f['int8_jpeg'] = np.frombuffer(j, 'i1')
    out.append(E_bytes('/int8_jpeg', [j], ['jpg'], index=[[]]))
    f['scalar_string'] = np.array(j, dtype='S%d' % len(j))
    out.append(E_bytes('/scalar_string', [j], ['jpg'], index=[[]]))
    bl = [png(rgb(10, 12, k)) for k in range(3)]
    m = max(map(len, bl))
    f['opaque_vec'] = np.array([b.ljust(m, b'\0') for b in bl], dtype='V%d' % m)
    out.append(E_bytes('/opaque_vec', bl, ['png'] * 3))
    a = np.zeros((3, m + 9), 'u1')
    for i, b in enumerate(bl):
        a[i, :len(b)] = np.frombuffer(b, 'u1')
    f['padded_png'] = a
    out.append(E_bytes('/padded_png', bl, ['png'] * 3))
    for fmt, ext in (('GIF', 'gif'), ('BMP', 'bmp'), ('TIFF', 'tif'), ('WEBP', 'webp')):
        o = _io.BytesIO()
        I.fromarray(gray(12, 16)).convert('L' if fmt != 'WEBP' else 'RGB').save(o, fmt)
        f['any_' + ext] = np.frombuffer(o.getvalue(), 'u1')
        out.append(E_bytes('/any_' + ext, [o.getvalue()], [ext], index=[[]]))
    f['class_image_1d'] = np.frombuffer(j, 'u1')
    f['class_image_1d'].attrs['CLASS'] = 'IMAGE'
    out.append(E_bytes('/class_image_1d', [j], ['jpg'], index=[[]]))
    from PIL import PngImagePlugin  # noqa: F401
    o = _io.BytesIO()
    I.fromarray(g16(16, 20)).save(o, 'PNG')
    d = f.create_dataset('depth_png16', (1,), dtype=h5py.vlen_dtype('u1'))
    d[0] = np.frombuffer(o.getvalue(), 'u1')
    out.append(E_bytes('/depth_png16', [o.getvalue()], ['png']))
    f['not_an_image_u8'] = np.arange(200, dtype='u1')
    f['random.jpg'] = np.arange(64, dtype='u1')      # extension lies, no magic
    v = f.create_dataset('mixed_not_image', (3,), dtype=h5py.vlen_dtype('u1'))
    v[0] = np.frombuffer(j, 'u1')
    v[1] = np.arange(5, dtype='u1')
    v[2] = np.arange(9, dtype='u1')
    out.append(E_misc('/mixed_not_image', 'json', note='only 1 of 3 elements has a magic: not an image column'))
    return out


@layout('onedset_per_image.h5', 'one dataset per image', 'ruslan-kosarev style write_image(name); names "ID-0001", "image_001.jpg" with decoded pixels')
def _(f):
    out = []
    for i in range(2):
        p = rgb(48 + 8 * i, 64, i)
        f.create_dataset('images/ID-%04d' % i, data=p, compression='gzip')
        out.append(E_img('/images/ID-%04d' % i, [p], 'HWC', 'u8', index=[[]], rule='S5a'))
        g = gray(40, 50 + i, i)
        f['images/gray_%03d.png' % i] = g
        out.append(E_img('/images/gray_%03d.png' % i, [g], 'HW', 'u8', index=[[]], rule='S6'))
        f['images/image_%03d.jpg' % i] = p
        out.append(E_img('/images/image_%03d.jpg' % i, [p], 'HWC', 'u8', index=[[]], rule='S5a',
                         note='raw pixels under a .jpg name: shown as image_NNN.jpg.png'))
        f['images/ID-%04d' % i].attrs['label'] = ['cat', 'dog'][i]
        out[-3]['classes'] = [i]
        out[-3]['class_of_sample'] = [['cat', 'dog'][i]]
        out[-3]['note'] = 'class from the per-dataset attribute label'
    f['single'] = rgb(30, 40)
    out.append(E_img('/single', [rgb(30, 40)], 'HWC', 'u8', index=[[]], rule='S5a'))
    f['single_chw'] = rgb(30, 40).transpose(2, 0, 1)
    out.append(E_img('/single_chw', [rgb(30, 40)], 'CHW', 'u8', index=[[]], rule='S5b'))
    f['single_1'] = gray(30, 40)[..., None]
    out.append(E_img('/single_1', [gray(30, 40)], 'HWC', 'u8', index=[[]], rule='S5a'))
    f['mat2d'] = gray(31, 41)
    f['image'] = gray(30, 40)
    out.append(E_img('/image', [gray(30, 40)], 'HW', 'u8', index=[[]], rule='S6'))
    return out


@layout('growing_stack.h5', 'append', 'stack that currently holds 3 or 1 gray frames: (3,28,28)/(1,28,28) with maxshape None must not become one RGB picture')
def _(f):
    out = []
    for n in (1, 3, 4):
        p = grays(n, 28, 28)
        f.create_dataset('frames%d' % n, data=p, maxshape=(None, 28, 28), chunks=(1, 28, 28))
        out.append(E_img('/frames%d' % n, list(p), 'NHW', 'u8', index=[[i] for i in range(n)], rule='S5c'))
    p = grays(3, 28, 28)
    f['lab/images'] = p
    f['lab/labels'] = np.array([1, 0, 2])
    out.append(E_img('/lab/images', list(p), 'NHW', 'u8', index=[[i] for i in range(3)], classes=[1, 0, 2], rule='S5c',
                     note='fixed size, but the label vector has length 3'))
    q = rgbs(2, 28, 28)
    f.create_dataset('rgb', data=q, maxshape=(None, 28, 28, 3), chunks=(1, 28, 28, 3))
    out.append(E_img('/rgb', q, 'NHWC', 'u8', rule='S1'))
    f.create_dataset('empty', (0, 28, 28, 3), dtype='u1', maxshape=(None, 28, 28, 3), chunks=(1, 28, 28, 3))
    out.append(dict(path='/empty', kind='image', layout='NHWC', norm='u8', count=0, rule='S1', sample_index=[], samples=[],
                    png=dict(width=28, height=28, channels=3, bit_depth=8), note='empty directory; appending gives sample 0'))
    f.create_dataset('any', shape=(0,), dtype=h5py.vlen_dtype('u1'), maxshape=(None,), chunks=(4,))
    out.append(E_json('/any', [], note='empty vlen u8 without an image name: an empty list'))
    return out


# =====================================================================  C. robotics


def env_args():
    return json.dumps({'env_name': 'Lift', 'env_type': 1, 'env_kwargs': {'camera_heights': 84}})


@layout('robomimic.hdf5', 'robotics', 'ARISE-Initiative/robomimic docs/datasets/overview.md')
def _(f):
    g = f.create_group('data')
    g.attrs['env_args'] = env_args()
    g.attrs['total'] = 5
    out = []
    for d, T in ((0, 3), (1, 2)):
        e = g.create_group('demo_%d' % d)
        e.attrs['num_samples'] = T
        e.attrs['model_file'] = '<mujoco model="base">' + ' ' * 3000 + '</mujoco>'
        e['actions'] = np.zeros((T, 7))
        e['states'] = np.zeros((T, 32))
        e['rewards'] = np.zeros(T)
        e['dones'] = np.zeros(T, 'i8')
        for grp, k in (('obs', 0), ('next_obs', 1)):
            p = rgbs(T, 84, 84, k + 10 * d)
            z = grays(T, 84, 84, k)
            e[grp + '/agentview_image'] = p
            e[grp + '/agentview_depth'] = (z / 100.0 + 0.3).astype('f4')[..., None]
            e[grp + '/robot0_eef_pos'] = np.zeros((T, 3))
            e[grp + '/object'] = np.zeros((T, 10))
            base = '/data/demo_%d/%s' % (d, grp)
            out.append(E_img(base + '/agentview_image', p, 'NHWC', 'u8', rule='S1'))
            out.append(E_img(base + '/agentview_depth', minmax_all([x[..., 0] for x in e[grp + '/agentview_depth'][...]]),
                             'NHWC', 'float-minmax', rule='S1'))
    f['mask/train'] = np.array([b'demo_0'])
    f['mask/valid'] = np.array([b'demo_1'])
    return out


@layout('libero_demo.hdf5', 'robotics', 'LIBERO scripts/create_dataset.py (attr macros_image_convention=opengl); issue LIBERO#11; openvla#295',
        note='the file itself declares OpenGL rows (bottom-up): flip vertically; -o orient=raw keeps stored rows')
def _(f):
    g = f.create_group('data')
    g.attrs['macros_image_convention'] = 'opengl'
    g.attrs['env_args'] = env_args()
    g.attrs['num_demos'] = 1
    p = rgbs(2, 64, 64)
    g['demo_0/obs/agentview_rgb'] = p[:, ::-1]
    g['demo_0/obs/eye_in_hand_rgb'] = p[:, ::-1]
    z = (grays(2, 64, 64) / 100.0 + 0.3).astype('f4')
    g['demo_0/obs/agentview_depth'] = z[:, ::-1]
    g['demo_0/obs/ee_ori'] = np.zeros((2, 3))
    g['demo_0/dones'] = np.array([0, 1], 'u1')
    return [E_img('/data/demo_0/obs/' + n, p, 'NHWC', 'u8', rule='S1+O3', note='flipped')
            for n in ('agentview_rgb', 'eye_in_hand_rgb')] + [
        E_img('/data/demo_0/obs/agentview_depth', minmax_all([x for x in z]), 'NHW', 'float-minmax', rule='S5c+O3',
              note='turned like its colour sibling')]


@layout('aloha_episode.hdf5', 'robotics', 'tonyzhaozh/act record_sim_episodes.py (observations/images/<cam> (T,480,640,3) chunks (1,..))')
def _(f):
    f.attrs['sim'] = True
    out = []
    for c in ('top', 'angle'):
        p = rgbs(3, 48, 64)
        f.create_dataset('observations/images/' + c, data=p, chunks=(1, 48, 64, 3))
        out.append(E_img('/observations/images/' + c, p, 'NHWC', 'u8', rule='S1'))
    f['observations/qpos'] = np.zeros((3, 14), 'f4')
    f['action'] = np.zeros((3, 14), 'f4')
    return out


@layout('d4rl_mujoco.hdf5', 'RL', 'Farama-Foundation/D4RL offline_env.py: no images at all')
def _(f):
    f['observations'] = np.zeros((50, 17), 'f4')
    f['next_observations'] = np.zeros((50, 17), 'f4')
    f['actions'] = np.zeros((50, 6), 'f4')
    f['rewards'] = np.zeros(50, 'f4')
    f['terminals'] = np.zeros(50, bool)
    f['timeouts'] = np.zeros(50, bool)
    f['infos/qpos'] = np.zeros((50, 9))
    f['metadata/algorithm'] = np.bytes_(b'SAC')
    f['metadata/iteration'] = 300
    f['metadata/policy/fc0/weight'] = np.zeros((64, 17), 'f4')
    return []


@layout('blenderproc.hdf5', 'synthetic vision', 'BlenderProc output read by atrusnak/cubeVision (hdf["colors"] (H,W,3)); depth, normals, segmaps per frame')
def _(f):
    p = rgb(48, 64)
    f['colors'] = p
    d = (gray(48, 64) / 20.0).astype('f4')
    d[0, 5] = 1e10
    f['depth'] = d
    n = (rgb(48, 64, 3) / 255.0).astype('f4')
    f['normals'] = n
    m = classes_mask(48, 64, 5)
    f['category_id_segmaps'] = m.astype('u1')
    f['instance_attribute_maps'] = '[{"idx": 1, "name": "Cube"}]'
    f['blender_proc_version'] = np.bytes_(b'2.5.0')
    return [E_img('/colors', [p], 'HWC', 'u8', index=[[]], rule='S5a'),
            E_img('/depth', [minmax(d)], 'HW', 'float-minmax', index=[[]], rule='S6', note='1e10 background washes out: -o range='),
            E_img('/normals', [rgb(48, 64, 3)], 'HWC', 'float-unit', index=[[]], rule='S7'),
            E_img('/category_id_segmaps', [m], 'HW', 'u8', index=[[]], rule='S7'),
            E_json('/instance_attribute_maps', [{'idx': 1, 'name': 'Cube'}])]


# =====================================================================  D. medical


@layout('fastmri_knee.h5', 'MRI', 'facebookresearch/fastMRI fastmri/data/README.md, mri_data.py')
def _(f):
    r = np.random.RandomState(3)
    k = (r.randn(3, 40, 36) + 1j * r.randn(3, 40, 36)).astype('c8')
    f['kspace'] = k
    a = (grays(3, 32, 32) * 1.5e-6).astype('f4')
    f['reconstruction_esc'] = a
    f['reconstruction_rss'] = a * 2
    f['ismrmrd_header'] = '<?xml version="1.0"?><ismrmrdHeader/>'
    f.attrs.update(dict(acquisition='CORPD_FBK', max=float(a.max()), norm=0.1, patient_id='abc'))
    return [E_npy('/kspace', k, note='complex: never a picture'),
            E_img('/reconstruction_esc', minmax_all([x for x in a]), 'NHW', 'float-minmax', rule='S5c',
                  note='values ~1e-4 are inside [0,1] but must not be treated as unit range'),
            E_img('/reconstruction_rss', minmax_all([x for x in a * 2]), 'NHW', 'float-minmax', rule='S5c')]


@layout('brats_slice.h5', 'MRI segmentation', 'Kaggle BraTS2020 h5 volume_i_slice_j.h5 (image (240,240,4) f8 z-scored, mask (240,240,3) u1 0/1)')
def _(f):
    r = np.random.RandomState(5)
    f['image'] = r.randn(60, 60, 4)
    b = np.stack([binary(60, 60, k) for k in range(3)], -1)
    f['mask'] = b.astype('u1')
    return [E_img('/image', minmax_all([f['image'][..., k] for k in range(4)]), 'HWN', 'float-minmax', index=[[k] for k in range(4)],
                  rule='S5c', note='4 float modalities: 4 gray pictures, never RGBA'),
            E_img('/mask', [b.astype('u1')], 'HWC', 'u8', index=[[]], rule='S5a', note='integer 0/1: verbatim')]


@layout('oct_volumes.h5', 'ophthalmology', 'surajcodesml/SCR-Progression e2e README (images (N,H,W), layers/<name> (N,W)); Duke OCT h5; float16 variant')
def _(f):
    p = grays(4, 48, 64)
    f['images'] = (p / 255.0).astype('f2')
    for n in ('ILM', 'BM'):
        f['layers/' + n] = np.full((4, 64), 12.5, 'f4')
    f['filenames'] = np.array(['a.e2e', 'b.e2e', 'c.e2e', 'd.e2e'], dtype=VSTR)
    return [E_img('/images', p, 'NHW', 'float-unit', rule='S5c')]


@layout('clam_patches.h5', 'WSI', 'mahmoodlab/CLAM wsi_core/wsi_utils.py (imgs maxshape None chunk 1, coords (N,2) with attrs)')
def _(f):
    p = rgbs(3, 64, 64)
    d = f.create_dataset('imgs', data=p, maxshape=(None, 64, 64, 3), chunks=(1, 64, 64, 3))
    d.attrs['patch_level'] = 0
    d.attrs['wsi_name'] = 'slide1'
    d.attrs['level_dim'] = np.array([1000, 800])
    f.create_dataset('coords', data=np.array([[0, 0], [64, 0], [0, 64]], 'i4'), maxshape=(None, 2), chunks=(1, 2))
    return [E_img('/imgs', p, 'NHWC', 'u8', rule='S1')]


@layout('clam_features.h5', 'WSI', 'mahmoodlab/CLAM save_hdf5: features (N,1024) f4, coords (N,2) i8 + attrs patch_size')
def _(f):
    f.create_dataset('features', data=np.random.RandomState(1).rand(40, 128).astype('f4'), maxshape=(None, 128), chunks=(1, 128))
    c = f.create_dataset('coords', data=np.arange(80).reshape(40, 2), maxshape=(None, 2), chunks=(1, 2))
    c.attrs['patch_size'] = 256
    c.attrs['name'] = 'slide1'
    return []


@layout('ct_hu.h5', 'CT', 'HU volumes i2 [-1024,3071] (Z,Y,X) and (Y,X,Z), TCIA conversions')
def _(f):
    hu = np.stack([gray(64, 64, k).astype('i2') * (16 - 2 * k) - 1024 + 50 * k for k in range(5)])     # extremes differ
    f['ct_zyx'] = hu
    f.create_dataset('ct_yxz', data=hu.transpose(1, 2, 0), chunks=(64, 64, 1))
    return [E_img('/ct_zyx', minmax_all([x for x in hu]), 'NHW', 'int-minmax', rule='S5c'),
            E_img('/ct_yxz', minmax_all([x for x in hu]), 'HWN', 'int-minmax', rule='S5c', note='Z last: square pair first, chunk (64,64,1)')]


# =====================================================================  E. MATLAB and depth


class Mat:
    """Minimal MATLAB 7.3 writer: userblock, MATLAB_class, #refs#."""

    def __init__(self, path):
        self.path = path
        self.f = h5py.File(path, 'w', userblock_size=512)
        self.n = 0

    def put(self, name, arr, cls=None, parent=None, **attrs):
        a = np.asarray(arr)
        g = parent or self.f
        d = g.create_dataset(name, data=np.ascontiguousarray(a.T))      # MATLAB shape -> reversed
        if cls is None:
            cls = {'u1': 'uint8', 'u2': 'uint16', 'i2': 'int16', 'i4': 'int32', 'f4': 'single', 'f8': 'double',
                   'i8': 'int64', 'u8': 'uint64'}[a.dtype.str[1:]]
        set_sattr(d, 'MATLAB_class', cls, 'fixedexact')
        for k, v in attrs.items():
            d.attrs[k] = np.array(v, 'i4') if k != 'MATLAB_empty' else np.array(v, 'u1')
        return d

    def char(self, name, s, parent=None):
        u = np.frombuffer(s.encode('utf-16-le'), 'u2').reshape(1, -1)
        return self.put(name, u, 'char', parent, MATLAB_int_decode=2)

    def logical(self, name, a, parent=None):
        return self.put(name, a.astype('u1'), 'logical', parent, MATLAB_int_decode=1)

    def ref(self, writer):
        r = self.f.require_group('#refs#')
        nm = 'abcdefghijklmnopqrstuvwxyz'[self.n % 26] + ('' if self.n < 26 else str(self.n // 26))
        self.n += 1
        writer(nm, r)
        return r[nm].ref

    def cell(self, name, refs, parent=None):
        g = parent or self.f
        d = g.create_dataset(name, (1, len(refs)), dtype=h5py.ref_dtype)     # MATLAB Nx1
        for i, x in enumerate(refs):
            d[0, i] = x
        set_sattr(d, 'MATLAB_class', 'cell', 'fixedexact')
        return d

    def close(self):
        self.f.close()
        t = b'MATLAB 7.3 MAT-file, Platform: GLNXA64, Created on: Thu Jan  1 00:00:00 2015 HDF5 schema 1.00 .'
        hdr = t.ljust(116, b' ') + b'\0' * 8 + b'\x00\x02IM'
        with open(self.path, 'r+b') as fp:
            fp.write(hdr.ljust(512, b'\0'))


@layout('nyu_depth_v2_labeled.mat', 'depth', 'NYU Depth v2 (images (1449,3,640,480) in HDF5 order): keysmon, Its-a-me-Ashwin/2Dto3D readers', custom=True)
def _(path):
    m = Mat(path)
    p = rgbs(3, 48, 64)
    d = np.stack([gray(48, 64, k) / 30.0 for k in range(3)]).astype('f4')
    lab = np.stack([classes_mask(48, 64, 6, k) for k in range(3)]).astype('u2') * 150
    ins = np.stack([classes_mask(48, 64, 4, k) for k in range(3)])
    m.put('images', p.transpose(1, 2, 3, 0))              # H W 3 N
    m.put('depths', d.transpose(1, 2, 0))
    m.put('rawDepths', d.transpose(1, 2, 0))
    m.put('labels', lab.transpose(1, 2, 0))
    m.put('instances', ins.transpose(1, 2, 0))
    m.put('accelData', np.zeros((3, 4)))
    m.cell('names', [m.ref(lambda n, g, s=s: m.char(n, s, g)) for s in ('book', 'bottle', 'cabinet')])
    m.cell('scenes', [m.ref(lambda n, g, s=s: m.char(n, s, g)) for s in ('kitchen_0004', 'kitchen_0004', 'office_0003')])
    m.close()
    return [E_img('/images', p, 'MATLAB HWCN', 'u8', rule='P1', note='transposed: PNG is 64 wide, 48 high'),
            E_img('/depths', minmax_all([x for x in d]), 'MATLAB HWN', 'float-minmax', rule='P1'),
            E_img('/rawDepths', minmax_all([x for x in d]), 'MATLAB HWN', 'float-minmax', rule='P1'),
            E_img('/labels', list(lab), 'MATLAB HWN', 'u16', rule='P1'),
            E_img('/instances', list(ins), 'MATLAB HWN', 'u8', rule='P1'),
            E_misc('/names', 'txt', note='cell of char: one line each', lines=['book', 'bottle', 'cabinet']),
            E_misc('/scenes', 'txt', note='cell of char', lines=['kitchen_0004', 'kitchen_0004', 'office_0003'])]


@layout('nyudepth_fastdepth.h5', 'depth', 'fangchangma/sparse-to-dense.pytorch dataloaders/dataloader.py (rgb (3,480,640) u8, depth (480,640) f4)')
def _(f):
    p = rgb(48, 64)
    d = (gray(48, 64) / 25.5).astype('f4')
    f['rgb'] = p.transpose(2, 0, 1)
    f['depth'] = d
    return [E_img('/rgb', [p], 'CHW', 'u8', index=[[]], rule='S5b'),
            E_img('/depth', [minmax(d)], 'HW', 'float-minmax', index=[[]], rule='S6')]


@layout('matlab_general.mat', 'MATLAB v7.3', 'MAT 7.3 conventions (MATLAB_class, #refs#, MATLAB_empty, MATLAB_sparse, MATLAB_fields)', custom=True)
def _(path):
    m = Mat(path)
    p = rgb(30, 40)
    m.put('rgb_image', p)                                 # H W 3
    m.put('gray_image', gray(30, 40))
    m.put('A', np.arange(12.0).reshape(3, 4))
    m.logical('mask', binary(30, 40))
    m.char('title', 'héllo wörld')
    m.put('empty', np.array([0, 0], 'u8'), 'double', MATLAB_empty=1)
    g = m.f.create_group('S')
    set_sattr(g, 'MATLAB_class', 'struct', 'fixedexact')
    m.put('x', np.array([[1.0]]), parent=g)
    m.char('name', 'abc', g)
    s = m.f.create_group('sp')
    set_sattr(s, 'MATLAB_class', 'double', 'fixedexact')
    s.attrs['MATLAB_sparse'] = np.uint64(3)
    s['data'] = np.array([1.0, 2.0])
    s['ir'] = np.array([0, 2], 'u8')
    s['jc'] = np.array([0, 1, 2], 'u8')
    z = m.f.create_dataset('Z', data=np.array([[1 + 2j, 3 - 1j]]).view([('real', 'f8'), ('imag', 'f8')]))
    set_sattr(z, 'MATLAB_class', 'double', 'fixedexact')
    v = grays(4, 24, 24)
    m.put('vol', v.transpose(1, 2, 0))
    m.close()
    return [E_img('/rgb_image', [p], 'MATLAB HWC', 'u8', index=[[]], rule='P1'),
            E_img('/gray_image', [gray(30, 40)], 'MATLAB HW', 'u8', index=[[]], rule='P1'),
            E_img('/mask', [binary(30, 40)], 'MATLAB HW', 'binary', index=[[]], rule='P1'),
            E_img('/vol', list(v), 'MATLAB HWN', 'u8', rule='P1'),
            E_txt('/title', 'héllo wörld', note='MATLAB char: UTF-16 code units'),
            E_txt('/S/name', 'abc'),
            E_misc('/empty', 'npy', note='MATLAB_empty: stores the dims; show shape (0,0)'),
            E_misc('/Z', 'npy', note='{real,imag} compound is complex128')]


@layout('svhn_digitstruct.mat', 'MATLAB v7.3', 'SVHN format 1 digitStruct.mat (bbox, name: (N,1) references into #refs#) as read in the chainer/StackOverflow loaders', custom=True)
def _(path):
    m = Mat(path)
    g = m.f.create_group('digitStruct')
    names = [m.ref(lambda n, r, s=s: m.char(n, s, r)) for s in ('1.png', '2.png')]

    def bbox(n, r):
        b = r.create_group(n)
        for k in ('height', 'left', 'top', 'width', 'label'):
            b[k] = np.array([[10.0]])
    boxes = [m.ref(bbox) for _ in range(2)]
    for nm, refs in (('name', names), ('bbox', boxes)):
        d = g.create_dataset(nm, (2, 1), dtype=h5py.ref_dtype)
        for i in range(2):
            d[i, 0] = refs[i]
        set_sattr(d, 'MATLAB_class', 'cell', 'fixedexact')
    m.close()
    return []


# =====================================================================  F. science formats


@layout('imaris.ims', 'microscopy', 'CBI-PITT/imaris_ims_file_reader; Imaris 5.5: padded blocks, ImageSizeX/Y/Z as arrays of S1')
def _(f):
    out = []
    f['DataSetInfo/Image'] = h5py.Empty('f4')
    del f['DataSetInfo/Image']
    g = f.create_group('DataSetInfo/Image')
    for k, v in (('X', '50'), ('Y', '40'), ('Z', '3'), ('ExtMin0', '0'), ('Unit', 'um')):
        charattr(g, k, v)
    charattr(f, 'ImarisVersion', '5.5.0')
    for c in range(2):
        p = grays(3, 40, 50, 10 * c)
        pad = np.zeros((4, 64, 64), 'u1')
        pad[:3, :40, :50] = p
        ch = f.create_group('DataSet/ResolutionLevel 0/TimePoint 0/Channel %d' % c)
        for k, v in (('ImageSizeX', '50'), ('ImageSizeY', '40'), ('ImageSizeZ', '3'), ('HistogramMin', '0.000'), ('HistogramMax', '255.000')):
            charattr(ch, k, v)
        ch.create_dataset('Data', data=pad, chunks=(4, 32, 32), compression='gzip', compression_opts=2)
        ch['Histogram'] = np.zeros(256, 'u8')
        out.append(E_img('/DataSet/ResolutionLevel 0/TimePoint 0/Channel %d/Data' % c, list(p), 'NHW', 'u8', rule='P5',
                         note='cropped to ImageSize; stored 4x64x64'))
    f['Thumbnail/Data'] = np.zeros((32, 128), 'u1')
    return out


@layout('bdv.h5', 'microscopy', 'nvladimus/npy2bdv BdvWriter (t00000/s00/0/cells i2 = u2 bits; s00/resolutions, subdivisions)')
def _(f):
    v = np.stack([gray(40, 50, k).astype('u2') * 200 for k in range(3)])      # above 32767
    f.create_dataset('t00000/s00/0/cells', data=v.view('i2'), chunks=(1, 20, 25), maxshape=(None, None, None))
    f.create_dataset('t00000/s00/1/cells', data=v[:, ::2, ::2].copy().view('i2'), chunks=(1, 20, 25))
    f['s00/resolutions'] = np.array([[1., 1, 1], [2, 2, 1]])
    f['s00/subdivisions'] = np.array([[25, 20, 1], [25, 20, 1]], 'i4')
    return [E_img('/t00000/s00/0/cells', list(v), 'NHW', 'u16', rule='P4'),
            E_img('/t00000/s00/1/cells', list(v[:, ::2, ::2]), 'NHW', 'u16', rule='P4')]


def axistags(keys):
    tf = {'x': 2, 'y': 2, 'z': 2, 't': 8, 'c': 1}
    return json.dumps({'axes': [{'key': k, 'typeFlags': tf[k], 'resolution': 0, 'description': ''} for k in keys]})


@layout('ilastik.h5', 'microscopy', 'ilastik/vigra axistags JSON attribute; exported_data, drange; ilastik/ilastik issues')
def _(f):
    q = rgbs(6, 24, 36)
    f['exported_data'] = q.reshape(1, 2, 3, 24, 36, 3)[:, :, :]
    del f['exported_data']
    f['exported_data'] = q.reshape(2, 3, 24, 36, 3)
    f['exported_data'].attrs['axistags'] = axistags('tzyxc')
    pr = np.stack([gray(24, 36, 0), gray(24, 36, 9)], -1)
    f['probabilities'] = (pr / 255.0).astype('f4')
    f['probabilities'].attrs['axistags'] = axistags('yxc')
    f['probabilities'].attrs['drange'] = np.array([0.0, 1.0])
    f['vigra_xyc'] = q[0].transpose(1, 0, 2)
    f['vigra_xyc'].attrs['axistags'] = axistags('xyc')
    f['cyx'] = np.stack([gray(24, 36, k) for k in range(5)])
    f['cyx'].attrs['axistags'] = axistags('cyx')
    return [E_img('/exported_data', list(q), 'tzyxc', 'u8', index=[[i, j] for i in range(2) for j in range(3)], rule='D3'),
            E_img('/probabilities', [pr[..., 0], pr[..., 1]], 'yxc', 'range', index=[[0], [1]], rule='D3',
                  note='2 channels: one gray PNG per channel'),
            E_img('/vigra_xyc', [q[0]], 'xyc', 'u8', index=[[]], rule='D3', note='transposed because the file says x,y'),
            E_img('/cyx', [gray(24, 36, k) for k in range(5)], 'cyx', 'u8', index=[[i] for i in range(5)], rule='D3')]


@layout('axes_attrs.h5', 'declared axes', 'DIMENSION_LABELS (h5py dims[].label), data_format/layout attrs, _ARRAY_DIMENSIONS, OME-like axes string')
def _(f):
    q = rgbs(2, 20, 26)
    out = []

    def put(name, arr, lay, key=None, val=None, pics=None, idx=None):
        f[name] = arr
        if key:
            f[name].attrs[key] = val
        out.append(E_img('/' + name, pics if pics is not None else q, lay, 'u8', index=idx, rule='D3'))
    put('nchw', q.transpose(0, 3, 1, 2), 'NCHW', 'data_format', 'NCHW')
    put('cf', q.transpose(0, 3, 1, 2), 'NCHW', 'data_format', 'channels_first')
    put('chwn', q.transpose(3, 1, 2, 0), 'CHWN', 'layout', 'CHWN')
    put('nwhc', q.transpose(0, 2, 1, 3), 'NWHC', 'layout', 'NWHC')
    put('whcn', q.transpose(2, 1, 3, 0), 'WHCN', 'data_format', b'WHCN')
    f['dimlab'] = q.transpose(0, 2, 1, 3)
    for i, n in enumerate(('time', 'x', 'y', 'channel')):
        f['dimlab'].dims[i].label = n
    out.append(E_img('/dimlab', q, 't x y c', 'u8', rule='D3'))
    put('xr', q.transpose(3, 0, 1, 2), 'c n y x', '_ARRAY_DIMENSIONS', np.array(['band', 'sample', 'lat', 'lon'], dtype=VSTR))
    put('ome', q.transpose(0, 3, 1, 2), 'TCYX', 'axes', 'TCYX')
    g = gray(20, 26)
    put('yx2d', g, 'YX', 'axes', 'YX', pics=[g], idx=[[]])
    f['notimg'] = np.arange(60.).reshape(5, 12)
    f['notimg'].attrs['axes'] = 'time:channel'
    f['spectra_tiny'] = np.zeros((6, 2, 3), 'u2')
    f['spectra_tiny'].attrs['axes'] = 'CYX'
    bands = np.stack([grays(2, 20, 20, k) for k in range(5)], -1)
    f['bands_forced'] = bands
    f['bands_forced'].attrs['h5fs.layout'] = 'NHWB'
    out.append(E_img('/bands_forced', [bands[i, :, :, k] for i in range(2) for k in range(5)], 'NHWB', 'u8',
                     index=[[i, k] for i in range(2) for k in range(5)], rule='R1', note='B = one gray picture per band'))
    out.append(E_misc('/spectra_tiny', 'npy', note='declared y,x but 2x3 pixels: a spectrum grid (Delmic SPARC), not pictures'))
    f['u8_declared_none'] = q
    f['u8_declared_none'].attrs['h5fs.layout'] = 'none'
    out.append(E_misc('/u8_declared_none', 'npy', note='explicit opt-out beats S1'))
    return out


@layout('cremi_sample.hdf', 'EM connectomics', 'cremi/cremi_python cremi/io/CremiFile.py')
def _(f):
    p = grays(4, 40, 52)
    f.attrs['file_format'] = '0.2'
    d = f.create_dataset('volumes/raw', data=p, compression='gzip')
    d.attrs['resolution'] = (40.0, 4.0, 4.0)
    ids = np.stack([classes_mask(40, 52, 5, k) for k in range(4)]).astype('u8') * 25000
    n = f.create_dataset('volumes/labels/neuron_ids', data=ids, compression='gzip')
    n.attrs['resolution'] = (40.0, 4.0, 4.0)
    n.attrs['offset'] = (1480.0, 3644.0, 3644.0)
    cl = np.full((4, 40, 52), 2**64 - 1, 'u8')
    cl[1, 5:9, 6:12] = 3
    f.create_dataset('volumes/labels/clefts', data=cl, compression='gzip')
    f['annotations/ids'] = np.array([5, 6], 'u8')
    f['annotations/types'] = np.array(['presynaptic_site', 'postsynaptic_site'], dtype=VSTR)
    f['annotations/locations'] = np.zeros((2, 3))
    f['annotations/presynaptic_site/partners'] = np.array([[5, 6]], 'u8')
    c8 = np.where(cl == 2**64 - 1, 0, cl).astype('u1')
    return [E_img('/volumes/raw', list(p), 'NHW', 'u8', rule='S5c'),
            E_img('/volumes/labels/neuron_ids', minmax_all([x for x in ids]), 'NHW', 'int-minmax', rule='S7',
                  note='ids above 65535: view only, exact ids in .npy'),
            E_img('/volumes/labels/clefts', list(c8), 'NHW', 'int-u8', rule='S7', note='all-ones value = missing -> 0')]


@layout('snemi.h5', 'EM connectomics', 'SNEMI3D / deepEM h5: single dataset main (Z,Y,X) u8')
def _(f):
    p = grays(6, 32, 32)
    f['main'] = p
    return [E_img('/main', p, 'NHW', 'u8', rule='S5c')]


@layout('eiger_master.h5', 'crystallography', 'Dectris EIGER FileWriter: entry/data/data_00000N external links, u4, image_nr_low/high, bslz4 (kiyo-masui/bitshuffle)', custom=True)
def _(path):
    base = os.path.dirname(path)
    v = np.stack([gray(40, 48, k).astype('u4') for k in range(3)])
    v[:, 20, :4] = 0xFFFFFFFF
    with h5py.File(os.path.join(base, 'eiger_data_000001.h5'), 'w') as g:
        d = g.create_dataset('entry/data/data', data=v, chunks=(1, 40, 48), compression='gzip')
        d.attrs['image_nr_low'] = 1
        d.attrs['image_nr_high'] = 3
        g['entry'].attrs['NX_class'] = 'NXentry'
        g['entry/data'].attrs['NX_class'] = 'NXdata'
    f = h5py.File(path, 'w')
    e = f.create_group('entry')
    e.attrs['NX_class'] = 'NXentry'
    dg = e.create_group('data')
    dg.attrs['NX_class'] = 'NXdata'
    dg.attrs['signal'] = 'data_000001'
    dg['data_000001'] = h5py.ExternalLink('eiger_data_000001.h5', '/entry/data/data')
    dg['data_000002'] = h5py.ExternalLink('eiger_data_000002.h5', '/entry/data/data')
    pm = np.zeros((40, 48), 'u4')
    pm[20, :4] = 1
    e['instrument/detector/detectorSpecific/pixel_mask'] = pm
    e['instrument/detector/x_pixel_size'] = np.float32(7.5e-05)
    e['instrument/detector/description'] = 'Dectris Eiger 1M'
    f.close()
    exp = [np.where(x == 0xFFFFFFFF, 0, x).astype('u1') for x in v]
    return [E_link('/entry/data/data_000001', 'external', 'eiger_data_000001.h5:/entry/data/data', expect='followed (same directory)'),
            E_img('/entry/data/data_000001', exp, 'NHW', 'int-u8', rule='P6', note='through the external link; masked pixels (all ones) -> 0'),
            E_link('/entry/data/data_000002', 'external', 'eiger_data_000002.h5:/entry/data/data', expect='dangling symlink, mount still works'),
            E_img('/entry/instrument/detector/detectorSpecific/pixel_mask', [pm.astype('u1')], 'HW', 'int-u8', index=[[]], rule='S6')]


@layout('nexus.nxs', 'NeXus', 'NXdata signal/axes/interpretation conventions (silx, h5web)')
def _(f):
    e = f.create_group('entry')
    e.attrs['NX_class'] = 'NXentry'
    e.attrs['default'] = 'data'
    f.attrs['default'] = 'entry'
    d = e.create_group('data')
    d.attrs['NX_class'] = 'NXdata'
    d.attrs['signal'] = 'counts'
    d.attrs['axes'] = np.array(['.', 'y', 'x'], dtype=VSTR)
    c = np.stack([gray(30, 44, k).astype('i4') * 3000 for k in range(2)])
    d['counts'] = c
    d['counts'].attrs['interpretation'] = 'image'
    d['y'] = np.arange(30.0)
    d['x'] = np.arange(44.0)
    q = rgb(30, 44)
    e['picture'] = q.astype('f4') / 255
    e['picture'].attrs['interpretation'] = 'rgb-image'
    e['spectra'] = np.zeros((4, 32, 64), 'u2')
    e['spectra'].attrs['interpretation'] = 'spectrum'
    e['title'] = 'scan 1'
    return [E_img('/entry/data/counts', minmax_all([x for x in c]), 'NHW', 'int-minmax', rule='D5'),
            E_img('/entry/picture', [q], 'HWC', 'float-unit', index=[[]], rule='D5'),
            E_misc('/entry/spectra', 'npy', note='interpretation=spectrum: not pictures although u2 (N,32,64)')]


@layout('dxchange_tomo.h5', 'tomography', 'data-exchange/dxfile doc/source/xraytomo.rst (exchange/data theta:y:x, data_white, data_dark, theta)')
def _(f):
    v = np.stack([g16(20, 48, k) for k in range(4)])
    f['implements'] = 'exchange:measurement:process'
    e = f.create_group('exchange')
    for n, a in (('data', v), ('data_white', v[:2]), ('data_dark', v[:2] // 8)):
        e[n] = a
        e[n].attrs['units'] = 'counts'
    e['theta'] = np.linspace(0, 180, 4)
    e['theta'].attrs['units'] = 'deg'
    s = e.create_dataset('data_sino', data=v.transpose(1, 0, 2))
    s.attrs['axes'] = 'y:theta:x'
    f['measurement/sample/name'] = 'rock'
    return [E_img('/exchange/data', list(v), 'theta y x', 'u16', rule='P3'),
            E_img('/exchange/data_white', list(v[:2]), 'theta y x', 'u16', rule='P3'),
            E_img('/exchange/data_dark', list(v[:2] // 8), 'theta y x', 'u16', rule='P3'),
            E_img('/exchange/data_sino', list(v), 'y theta x', 'u16', rule='D3', note='sinogram order: slice along theta')]


def nc_scales(f, g, names):
    for n, a in names.items():
        g[n] = a
        g[n].make_scale(n)


@layout('era5.nc', 'earth observation', 'netCDF-4 gridded (time,lat,lon) i2 packed; lat ascending is NOT flipped by default (hint only)')
def _(f):
    nc_scales(f, f, {'time': np.arange(3, dtype='i4'), 'lat': np.linspace(-90, 90, 24), 'lon': np.linspace(0, 350, 36)})
    f['lat'].attrs['units'] = 'degrees_north'
    raw = np.stack([gray(24, 36, k).astype('i2') * 200 - 20000 for k in range(3)])
    raw[0, 0, 3] = -32767
    d = f.create_dataset('t2m', data=raw, fillvalue=-32767)
    d.attrs['_FillValue'] = np.array([-32767], 'i2')
    d.attrs['scale_factor'] = 0.0017
    d.attrs['add_offset'] = 270.0
    for i, n in enumerate(('time', 'lat', 'lon')):
        d.dims[i].attach_scale(f[n])
    s = f.create_dataset('profile', data=np.zeros((3, 24)))
    s.dims[0].attach_scale(f['time'])
    s.dims[1].attach_scale(f['lat'])
    m = raw.astype('f8')
    m[raw == -32767] = np.nan
    return [E_img('/t2m', minmax_all([x for x in m]), 'time lat lon', 'int-minmax', rule='D4', note='fill -> 0'),
            E_misc('/profile', 'npy', note='dims time,lat: no x axis, not a picture')]


@layout('viirs_sdr.h5', 'earth observation', 'VIIRS SDR All_Data/VIIRS-I1-SDR_All/Radiance u2 with fill 65528..65535')
def _(f):
    a = g16(32, 48)
    a[0, 2] = 65533
    f['All_Data/VIIRS-I1-SDR_All/Radiance'] = a
    f['All_Data/VIIRS-I1-SDR_All/QF1_VIIRSIBANDSDR'] = np.zeros((32, 48), 'u1')
    f['All_Data/VIIRS-I1-SDR_All/RadianceFactors'] = np.array([0.02, 0], 'f4')
    f['Data_Products/VIIRS-I1-SDR/VIIRS-I1-SDR_Aggr'] = np.zeros(2)
    return [E_img('/All_Data/VIIRS-I1-SDR_All/Radiance', [a], 'HW', 'u16', index=[[]], rule='S6', note='verbatim, fills included'),
            E_img('/All_Data/VIIRS-I1-SDR_All/QF1_VIIRSIBANDSDR', [np.zeros((32, 48), 'u1')], 'HW', 'u8', index=[[]], rule='S7')]


@layout('hdf5_image_spec.h5', 'HDF5 image spec', 'HDF5 Image and Palette spec 1.2; HDFGroup/hdfview uitest/hdf5_test.h5 (real file checked); gist RodrigoPrior; attr string variants')
def _(f):
    out = []
    q = rgb(20, 28)
    g = gray(20, 28)

    def im(name, arr, pics, sub=None, inter=None, how='fixed0', origin=None, idx=None, norm='u8', rule='D1', wz=None, rng=None, note='', palette=False, lay=''):
        d = f.create_dataset(name, data=arr)
        set_sattr(d, 'CLASS', 'IMAGE', how)
        set_sattr(d, 'IMAGE_VERSION', '1.2', how)
        if sub:
            set_sattr(d, 'IMAGE_SUBCLASS', sub, how)
        if inter:
            set_sattr(d, 'INTERLACE_MODE', inter, how)
        if origin:
            set_sattr(d, 'DISPLAY_ORIGIN', origin, how)
        if wz is not None:
            d.attrs['IMAGE_WHITE_IS_ZERO'] = np.uint8(wz)
        if rng is not None:
            d.attrs['IMAGE_MINMAXRANGE'] = np.array(rng, d.dtype)
        out.append(E_img('/' + name, pics, lay or 'IMAGE', norm, index=idx or [[]], rule=rule, note=note, palette=palette))
        return d
    pal = np.stack([np.arange(256), 255 - np.arange(256), np.full(256, 7)], 1).astype('u1')
    f['palette'] = pal
    set_sattr(f['palette'], 'CLASS', 'PALETTE')
    set_sattr(f['palette'], 'PAL_COLORMODEL', 'RGB')
    set_sattr(f['palette'], 'PAL_TYPE', 'STANDARD8')
    d = im('indexed', g, [pal[g]], 'IMAGE_INDEXED', palette=True, norm='palette')
    d.attrs.create('PALETTE', np.array([f['palette'].ref], dtype=h5py.ref_dtype))
    im('indexed_nopal', g, [g], 'IMAGE_INDEXED', note='no palette: gray')
    im('true_pixel', q, [q], 'IMAGE_TRUECOLOR', 'INTERLACE_PIXEL', 'array1')
    im('true_plane', q.transpose(2, 0, 1), [q], 'IMAGE_TRUECOLOR', 'INTERLACE_PLANE', 'fixedexact')
    im('true_line', q.transpose(0, 2, 1), [q], 'IMAGE_TRUECOLOR', 'INTERLACE_LINE', 'space')
    im('gray_vlen', g, [g], 'IMAGE_GRAYSCALE', how='vlen')
    im('white_is_zero', g, [255 - g], 'IMAGE_GRAYSCALE', wz=1, norm='inverted')
    im('range_i4', g.astype('i4') * 100 - 500, [linrange(g.astype('i4') * 100 - 500, 0, 20000)], 'IMAGE_GRAYSCALE', rng=(0, 20000), norm='range')
    im('range_u2', g16(20, 28), [g16(20, 28)], 'IMAGE_GRAYSCALE', rng=(0, 4095), norm='u16', note='u2 stays verbatim; range only exported as xattr')
    im('range_f4', (g / 51.0).astype('f4'), [g], 'IMAGE_GRAYSCALE', rng=(0, 5), norm='range')
    for o, fl in (('UL', (1, 1)), ('LL', (-1, 1)), ('UR', (1, -1)), ('LR', (-1, -1))):
        im('origin_' + o, q[::fl[0], ::fl[1]], [q], 'IMAGE_TRUECOLOR', 'INTERLACE_PIXEL', origin=o, rule='D1' if o == 'UL' else 'D1+O1')
    s = grays(4, 20, 28)
    im('stack_3d', s, list(s), idx=[[i] for i in range(4)], note='CLASS=IMAGE rank 3 without subclass is a stack (HDFView "3D THG")')
    tr = rgbs(2, 20, 28)
    im('stack_true', tr, list(tr), 'IMAGE_TRUECOLOR', 'INTERLACE_PIXEL', idx=[[0], [1]])
    im('tiny_2x3', np.array([[0, 1, 2], [3, 4, 255]], 'u1'), [np.array([[0, 1, 2], [3, 4, 255]], 'u1')], 'IMAGE_GRAYSCALE',
       note='declared images have no minimum size')
    return out


@layout('nwb.nwb', 'neurophysiology', 'NWB TwoPhotonSeries/Images; neurosift#116/#179, nwbwidgets#193 (x,y vs y,x dispute: shown as stored)')
def _(f):
    a = f.create_group('acquisition/TwoPhotonSeries')
    a.attrs['neurodata_type'] = 'TwoPhotonSeries'
    a.attrs['namespace'] = 'core'
    v = np.stack([gray(24, 40, k).astype('i2') * 3 for k in range(4)])
    a.create_dataset('data', data=v, chunks=(2, 8, 8), compression='gzip', maxshape=(None, 24, 40))
    a['data'].attrs['conversion'] = 1.0
    a['timestamps'] = np.arange(4.0)
    s = f.create_group('stimulus/presentation/Images')
    s.attrs['neurodata_type'] = 'Images'
    p = rgb(24, 40)
    s['img'] = p
    s['img'].attrs['neurodata_type'] = 'RGBImage'
    f['session_description'] = 'test'
    f.attrs['nwb_version'] = '2.5.0'
    e = f.create_group('acquisition/ElectricalSeries')
    e.attrs['neurodata_type'] = 'ElectricalSeries'
    e['data'] = np.zeros((200, 16), 'i2')
    return [E_img('/acquisition/TwoPhotonSeries/data', [x.astype('u2') for x in v], 'NHW', 'int-u16', rule='D6'),
            E_img('/stimulus/presentation/Images/img', [p], 'HWC', 'u8', index=[[]], rule='D6')]


@layout('pytables.h5', 'PyTables', 'PyTables CLASS=CARRAY/EARRAY/TABLE/VLARRAY, TITLE, VERSION; HDFView boatload.h5 (real file checked)')
def _(f):
    for k, v in (('TITLE', ''), ('CLASS', 'GROUP'), ('VERSION', '1.0'), ('PYTABLES_FORMAT_VERSION', '2.1')):
        set_sattr(f, k, v, 'fixedexact')
    p = rgbs(3, 40, 40)
    d = f.create_dataset('X', data=p, maxshape=(None, 40, 40, 3), chunks=(1, 40, 40, 3))
    set_sattr(d, 'CLASS', 'EARRAY', 'fixedexact')
    t = np.array([(b'a', 1, 2.5), (b'b', 2, -1.0)], dtype=[('name', 'S4'), ('n', 'i4'), ('v', 'f8')])
    d = f.create_dataset('t', data=t, maxshape=(None,), chunks=(4,))
    set_sattr(d, 'CLASS', 'TABLE', 'fixedexact')
    d = f.create_dataset('y', data=np.array([0, 1, 1]), maxshape=(None,), chunks=(4,))
    set_sattr(d, 'CLASS', 'EARRAY', 'fixedexact')
    d = f.create_dataset('pickled', (1,), dtype=h5py.vlen_dtype('u1'))
    d[0] = np.frombuffer(b'\x80\x04K\x01.', 'u1')
    set_sattr(d, 'CLASS', 'VLARRAY', 'fixedexact')
    set_sattr(d, 'PSEUDOATOM', 'object', 'fixedexact')
    return [E_img('/X', p, 'NHWC', 'u8', classes=[0, 1, 1], rule='S1', note='CLASS=EARRAY is not CLASS=IMAGE'),
            E_csv('/t', ['name', 'n', 'v'], [['a', 1, 2.5], ['b', 2, -1.0]])]


# =====================================================================  G. model files and traps


@layout('keras_model.h5', 'model weights', 'keras-team/keras legacy_h5_format.py (model_config, training_config, layer_names; >64512 bytes split in layer_names0..)')
def _(f):
    r = np.random.RandomState(7)
    f.attrs['model_config'] = json.dumps({'class_name': 'Functional', 'config': {'name': 'm'}})
    f.attrs['training_config'] = json.dumps({'loss': 'mse'})
    f.attrs['keras_version'] = '2.9.0'
    f.attrs['backend'] = 'tensorflow'
    w = f.create_group('model_weights')
    w.attrs['layer_names0'] = np.array([b'conv%d' % i for i in range(3)])
    w.attrs['layer_names1'] = np.array([b'patch_embed'])

    def layer(n, **kw):
        g = w.create_group(n)
        g.attrs['weight_names'] = np.array([('%s/%s:0' % (n, k)).encode() for k in kw])
        for k, s in kw.items():
            g['%s/%s:0' % (n, k)] = (r.randn(*s) * 0.1).astype('f4')
    layer('conv0', kernel=(3, 3, 3, 64), bias=(64,))
    layer('conv1', kernel=(3, 3, 64, 32), bias=(32,))
    layer('patch_embed', kernel=(32, 32, 3, 4), bias=(4,))
    layer('conv_t', kernel=(3, 64, 64, 1))
    w['quant/u8_table'] = r.randint(0, 255, (2, 16, 16, 3)).astype('u1')
    f['optimizer_weights/Adam/iter:0'] = np.int64(10)
    return [E_misc('/model_weights/quant/u8_table', 'npy', note='even u8 NHWC is not a picture inside a model file (P2)')]


@layout('keras3.weights.h5', 'model weights', 'Keras 3 .weights.h5 (layers/<n>/vars/<i>); tfjs#7848 _layer_checkpoint_dependencies; backslash names from Windows/older v3')
def _(f):
    r = np.random.RandomState(8)
    f['layers/conv2d/vars/0'] = r.rand(64, 64, 3, 2).astype('f4')
    f['layers/conv2d/vars/1'] = np.zeros(2, 'f4')
    f['optimizer/vars/0'] = 3
    f['_layer_checkpoint_dependencies\\dense\\vars/0'] = r.rand(40, 40).astype('f4')
    f.create_group('vars')
    return []


@layout('torch_weights.h5', 'model weights', 'torch state_dict dumped to h5: names with dots, no attributes')
def _(f):
    r = np.random.RandomState(9)
    for n, s in (('conv1.weight', (16, 3, 7, 7)), ('features.0.weight', (8, 3, 11, 11)), ('patch_embed.proj.weight', (4, 3, 32, 32)),
                 ('layer1.0.conv1.weight', (8, 8, 3, 3)), ('bn1.running_mean', (16,)), ('fc.weight', (32, 64)), ('pos_embed', (1, 50, 64))):
        f[n] = (r.randn(*s) * 0.05).astype('f4')
    f['bn1.num_batches_tracked'] = np.int64(5)
    return []


@layout('traps.h5', 'false positives', 'shapes that must stay .npy')
def _(f):
    r = np.random.RandomState(10)
    for n, a in {
        'a': r.rand(30, 20, 20, 5).astype('f4'),
        'b': r.rand(3, 3, 64, 32).astype('f4'),
        'W1': (r.randn(8, 3, 11, 11) * 0.1).astype('f4'),
        'coords': r.randint(0, 99, (100, 3)).astype('u1'),
        'onehot': np.eye(10, dtype='u1')[r.randint(0, 10, 50)],
        'onehot_big': np.eye(32, dtype='u1')[r.randint(0, 32, 64)],
        'emb': r.rand(20, 50, 30).astype('f4'),
        'data': r.rand(20, 50, 30).astype('f4'),
        'tokens': r.randint(0, 255, (64, 128)).astype('u1'),
        'sift': r.randint(0, 255, (200, 128)).astype('u1'),
        'adjacency': r.randint(0, 2, (40, 40)).astype('u1'),
        'gram': r.rand(64, 64),
        'dna': np.eye(4, dtype='u1')[r.randint(0, 4, (50, 200))],          # (N,L,4) one-hot
        'deepsea_x': np.eye(4, dtype='u1')[r.randint(0, 4, (20, 60))].transpose(0, 2, 1)[:, :, None, :],   # (N,4,1,L)
        'boxes': r.rand(10, 36, 4).astype('f4'),
        'keypoints': r.rand(10, 17, 3).astype('f4'),
        'quickdraw': r.randint(-50, 50, (10, 60, 3)).astype('i2'),
        'mel': r.rand(4, 64, 100).astype('f4'),
        'attention': r.rand(2, 8, 32, 32).astype('f4'),
        'seq_u4': r.randint(0, 50000, (16, 64, 64)).astype('u4'),
        'video_feat': r.rand(3, 40, 256).astype('f4'),
        'scalar': np.float64(3.5),
        'vec3': np.array([1, 2, 3], 'u1'),
        'k33': r.randint(0, 255, (3, 3, 3)).astype('u1'),
        'k333': r.randint(0, 255, (5, 3, 3, 3)).astype('u1'),
        'time_lat': r.rand(12, 180).astype('f4'),
        'fluo_traces': r.rand(300, 40).astype('f4'),
        'char_text': np.eye(30, dtype='u1')[r.randint(0, 30, (8, 40))],    # (N,L,V) one-hot text
        'five_d_f': r.rand(2, 3, 4, 5, 6).astype('f4'),
        'onehot_seg': np.eye(4, dtype='u1')[r.randint(0, 4, (2, 32, 32))],   # (N,H,W,4) one-hot, not RGBA
        'cov': r.rand(6, 16, 16),
    }.items():
        f[n] = a
    return []


@layout('pointcloud.h5', 'false positives', 'ModelNet40 ply_hdf5 (data (2048,2048,3) f4, label (2048,1) u1, normal), S3DIS (data (1000,4096,9), label (1000,4096) u1)')
def _(f):
    r = np.random.RandomState(11)
    f['data'] = r.rand(24, 64, 3).astype('f4') * 2 - 1
    f['normal'] = r.rand(24, 64, 3).astype('f4')
    f['label'] = r.randint(0, 40, (24, 1)).astype('u1')
    f['faceId'] = r.randint(0, 9, (24, 64)).astype('i4')
    f['s3dis/data'] = r.rand(6, 48, 9).astype('f4')
    f['s3dis/label'] = r.randint(0, 13, (6, 48)).astype('u1')
    f['scannet/rgb'] = r.randint(0, 255, (24, 64, 3)).astype('u1')
    f['scannet/points'] = r.rand(24, 64, 3).astype('f4')
    return [E_misc('/scannet/rgb', 'npy', note='per-point colours: sibling points has the same (N,P)')]


@layout('vqa_features.h5', 'false positives', 'Cyanogenoid/vqa style features (N,2048,14,14)/(N,2048,36), boxes (N,4,36), ids; image_features/image_bb (airsplay/hengyuan-hu)')
def _(f):
    r = np.random.RandomState(12)
    f['features'] = r.rand(2, 64, 14, 14).astype('f4')
    f['features36'] = r.rand(3, 128, 36).astype('f4')
    f['boxes'] = r.rand(3, 4, 36).astype('f4')
    f['image_features'] = r.rand(3, 36, 64).astype('f4')
    f['image_bb'] = r.rand(3, 36, 4).astype('f4')
    f['spatial_features'] = r.rand(3, 36, 6).astype('f4')
    f['ids'] = np.array([9, 25, 30], 'i4')
    f['widths'] = np.array([640, 480, 500], 'i4')
    f['grid_u8'] = r.randint(0, 255, (2, 512, 7, 7)).astype('u1')
    return []


@layout('annbench.hdf5', 'false positives', 'ann-benchmarks train/test (N,128) f4, neighbors i4, distances f4')
def _(f):
    r = np.random.RandomState(13)
    f['train'] = r.rand(64, 128).astype('f4')
    f['test'] = r.rand(8, 128).astype('f4')
    f['neighbors'] = r.randint(0, 64, (8, 100)).astype('i4')
    f['distances'] = r.rand(8, 100).astype('f4')
    f.attrs['distance'] = 'euclidean'
    return []


# =====================================================================  H. types


@layout('types_images.h5', 'datatypes', 'images stored in every numeric HDF5 type')
def _(f):
    n, h, w = 2, 24, 32
    p = grays(n, h, w)
    q = rgbs(n, h, w)
    b = np.stack([binary(h, w, k) for k in range(n)])
    out = []

    def put(name, a, pics, norm, lay='NHW', rule='S5c', note=''):
        f['images/' + name] = a
        out.append(E_img('/images/' + name, list(pics), lay, norm, index=[[0], [1]], rule=rule, note=note))
    put('bool', b, b, 'binary')
    put('i1', (p.astype('i2') - 128).astype('i1'), minmax_all([x for x in (p.astype('i2') - 128)]), 'int-minmax')
    put('i1_nonneg', (p // 2).astype('i1'), p // 2, 'int-u8')
    put('i2', p.astype('i2'), p, 'int-u8')
    put('i2_wide', p.astype('i2') * 100, (p.astype('u2') * 100), 'int-u16')
    put('i4', p.astype('i4'), p, 'int-u8')
    put('u4', p.astype('u4') * 300, minmax_all([x for x in p.astype('u4') * 300]), 'int-minmax')
    put('i8', p.astype('i8'), p, 'int-u8')
    put('u8', p.astype('u8'), p, 'int-u8')
    put('f2', (p / 255.0).astype('f2'), p, 'float-unit')
    put('f4', (p / 255.0).astype('f4'), p, 'float-unit')
    put('f8', (p / 255.0), p, 'float-unit')
    put('be_u2', g16(h, w)[None].repeat(2, 0).astype('>u2'), [g16(h, w)] * 2, 'u16')
    put('be_f4', (p / 255.0).astype('>f4'), p, 'float-unit')
    put('be_i4', p.astype('>i4'), p, 'int-u8')
    put('f4_hdr', p.astype('f4') * 3.7, minmax_all([x for x in p.astype('f4') * 3.7]), 'float-minmax')
    put('f4_z', ((p - 90.0) / 40).astype('f4'), minmax_all([x for x in ((p - 90.0) / 40).astype('f4')]), 'float-minmax')
    put('rgb_bool', b[..., None].repeat(3, -1), b[..., None].repeat(3, -1).astype('u1') * 255, 'binary-rgb', 'NHWC', 'S1')
    put('rgb_f4_hdr', q.astype('f4') * 9, minmax_all([x for x in q.astype('f4') * 9]), 'float-minmax', 'NHWC', 'S1', 'joint min-max over channels')
    # enum
    m = np.stack([classes_mask(h, w, 3, k) for k in range(n)])
    et = h5py.enum_dtype({'background': 0, 'road': 1, 'sky': 2}, basetype='u1')
    f.create_dataset('images/enum', data=m, dtype=et)
    out.append(E_img('/images/enum', list(m), 'NHW', 'u8', index=[[0], [1]], rule='S5c', note='enum names exported as xattr'))
    # bitfield
    for nm, t, a in (('bits8', h5t.STD_B8LE, p), ('bits16', h5t.STD_B16LE, p.astype('u2') * 100)):
        d = h5d.create(f['images'].id, nm.encode(), t, h5s.create_simple((n, h, w)))
        d.write(h5s.ALL, h5s.ALL, np.ascontiguousarray(a), mtype=t)
        out.append(E_img('/images/' + nm, list(a), 'NHW', 'u8' if nm == 'bits8' else 'u16', index=[[0], [1]], rule='S5c'))
    # H5T_ARRAY
    at = h5t.array_create(h5t.STD_U8LE, (h, w, 3))
    d = h5d.create(f['images'].id, b'array_type', at, h5s.create_simple((n,)))
    d.write(h5s.ALL, h5s.ALL, np.ascontiguousarray(q), mtype=at)
    out.append(E_img('/images/array_type', list(q), 'NHWC', 'u8', index=[[0], [1]], rule='T2+S1'))
    # compound RGB
    ct = np.dtype([('R', 'u1'), ('G', 'u1'), ('B', 'u1')])
    f['images/compound_rgb'] = np.ascontiguousarray(q).view(ct)[..., 0]
    out.append(E_img('/images/compound_rgb', list(q), 'NHWC', 'u8', index=[[0], [1]], rule='T3+S1'))
    # bfloat16
    bt = h5t.IEEE_F32LE.copy()
    bt.set_fields(15, 7, 8, 0, 7)
    bt.set_size(2)
    bt.set_ebias(127)
    src = (p // 2 / 128.0).astype('f4')
    d = h5d.create(f['images'].id, b'bfloat16', bt, h5s.create_simple((n, h, w)))
    d.write(h5s.ALL, h5s.ALL, src)
    back = f['images/bfloat16'][...].astype('f8')
    out.append(E_img('/images/bfloat16', [np.floor(x * 255 + .5).astype('u1') for x in back], 'NHW', 'float-unit', index=[[0], [1]],
                     rule='S5c', note='custom 16-bit float; npy as <f4'))
    f['complex'] = (p + 1j * p).astype('c8')
    f['images/complex'] = (p + 1j * p).astype('c8')
    out.append(E_misc('/images/complex', 'npy', note='complex never an image by default'))
    f['images/longdouble'] = p.astype('f8')[:1, :4, :4]
    return out


@layout('nan_inf.h5', 'datatypes', 'NaN/inf/constant images')
def _(f):
    a = np.stack([gray(24, 24, k) / 7.0 - 4 for k in range(4)]).astype('f4')
    a[0, 3, 4] = np.nan
    a[0, 3, 5] = np.inf
    a[0, 3, 6] = -np.inf
    a[1] = np.nan
    a[2] = 5.0
    f['images'] = a
    u = np.stack([gray(24, 24, k) / 255.0 for k in range(2)]).astype('f4')
    u[0, 3, 4] = np.nan
    f['unit_images'] = u
    ex = np.stack([gray(24, 24, k) for k in range(2)])
    ex[0, 3, 4] = 0
    e = E_img('/images', minmax_all([x for x in a]), 'NHW', 'float-minmax', rule='S5c', note='one range over all finite values; NaN->0, +inf->255, -inf->0')
    return [e, E_img('/unit_images', ex, 'NHW', 'float-unit', rule='S5c')]


@layout('strings.h5', 'datatypes', 'string variants')
def _(f):
    f['vlen_utf8'] = 'héllo'
    f.create_dataset('vlen_ascii', data=b'hello', dtype=h5py.string_dtype('ascii'))
    f['fixed'] = np.bytes_(b'fixed')
    f['json_obj'] = '{"classes": ["a", "b"], "n": 2}'
    f['multiline'] = 'line1\nline2\n'
    f['empty'] = ''
    f['array_vlen'] = np.array(['a', 'ü', ''], dtype=VSTR)
    f['array_fixed'] = np.array([b'abc', b'de'], dtype='S5')
    f['array_newline'] = np.array(['a\nb', 'c'], dtype=VSTR)
    f['array_2d'] = np.array([[b'a', b'b'], [b'c', b'd']])
    f['bad_utf8'] = np.bytes_(b'caf\xe9')
    for nm, pad in (('pad_null', h5t.STR_NULLPAD), ('pad_term', h5t.STR_NULLTERM), ('pad_space', h5t.STR_SPACEPAD)):
        t = h5t.C_S1.copy()
        t.set_size(8)
        t.set_strpad(pad)
        d = h5d.create(f.id, nm.encode(), t, h5s.create(h5s.SCALAR))
        d.write(h5s.ALL, h5s.ALL, np.array(b'abc     ' if pad == h5t.STR_SPACEPAD else b'abc', dtype='S8'), mtype=t)
    return [E_json('/json_obj', {'classes': ['a', 'b'], 'n': 2}), E_txt('/multiline', 'line1\nline2\n'),
            E_txt('/pad_space', 'abc', note='trailing pad spaces removed'), E_txt('/pad_null', 'abc'), E_txt('/pad_term', 'abc')]


@layout('empty_null.h5', 'datatypes', 'null dataspace, zero sizes, empty groups, scalars')
def _(f):
    f['null'] = h5py.Empty('f4')
    f.attrs['null_attr'] = h5py.Empty('S1')
    f.create_dataset('zero_h', (4, 0, 32, 3), dtype='u1')
    f.create_dataset('zero_vec', (0,), dtype='f8', maxshape=(None,))
    f.create_dataset('images', (0, 16, 16), dtype='u1', maxshape=(None, 16, 16), chunks=(1, 16, 16))
    f.create_group('empty_group')
    f['scalar_u8'] = np.uint8(7)
    f['scalar_f'] = 2.5
    f['one'] = np.array([1])
    return [dict(path='/images', kind='image', layout='NHW', norm='u8', count=0, rule='S5c', sample_index=[], samples=[],
                 png=dict(width=16, height=16, channels=1, bit_depth=8)),
            E_misc('/zero_h', 'npy', note='zero height: no PNG')]


@layout('compound.h5', 'datatypes', 'compound variants; MS "labels" tables')
def _(f):
    t = np.dtype([('id', 'i4'), ('name', 'S8'), ('score', 'f4'), ('ok', '?')])
    f['table'] = np.array([(1, b'a', .5, True), (2, b'b,c', np.nan, False)], dtype=t)
    n = np.dtype([('p', [('x', 'f4'), ('y', 'f4')]), ('v', 'i2', (3,))])
    f['nested'] = np.zeros(2, dtype=n)
    vt = np.dtype([('s', VSTR), ('n', 'i8')])
    d = f.create_dataset('vlenstr', (2,), dtype=vt)
    d[0] = ('héllo "q"', 1)
    d[1] = ('two\nlines', 2)
    f['grid'] = np.zeros((3, 4), dtype=[('a', 'i4'), ('b', 'f4')])
    f['scalar'] = np.array((3, b'z', 1.5, True), dtype=t)
    r = np.zeros((3,), dtype=[('r', 'f4'), ('i', 'f4')])
    f['complex_ri'] = r
    return []


@layout('vlen_misc.h5', 'datatypes', 'ragged arrays')
def _(f):
    d = f.create_dataset('ragged_f4', (3,), dtype=h5py.vlen_dtype('f4'))
    for i in range(3):
        d[i] = np.arange(i * 2, dtype='f4')
    d = f.create_dataset('ragged_2d', (2, 2), dtype=h5py.vlen_dtype('i2'))
    d[0, 0] = np.arange(3, dtype='i2')
    f.attrs['ragged'] = 'see datasets'
    return []


@layout('labels_variants.h5', 'labels', 'every way a class label is stored next to a stack')
def _(f):
    out = []
    N = 4

    def grp(name, lab, classes, names=None, where=None, extra=None, dt=None, note='', labname='labels'):
        g = f.create_group(name)
        p = rgbs(N, 16, 16)
        g['images'] = p
        if dt is not None:
            g.create_dataset(labname, data=lab, dtype=dt)
        else:
            g[labname] = lab
        if extra:
            extra(g)
        out.append(E_img('/%s/images' % name, p, 'NHWC', 'u8', classes=classes, names=names, rule='S1', note=note))
    y = np.array([2, 0, 1, 1])
    nm = ['zero', 'one', 'two']
    grp('int', y, y)
    grp('n1', y[:, None], y)
    grp('n111', y.reshape(4, 1, 1, 1), y)
    grp('onehot_f4', np.eye(3, dtype='f4')[y], y)
    grp('onehot_u1', np.eye(3, dtype='u1')[y], y)
    grp('float_int', y.astype('f8'), y, note='float64 holding whole numbers')
    grp('names_attr', y, y, nm, extra=lambda g: g['labels'].attrs.__setitem__('label_names', np.array(nm, dtype=VSTR)))
    grp('names_group', y, y, nm, extra=lambda g: g.attrs.__setitem__('class_names', np.array([b'zero', b'one', b'two'])))
    grp('json_n2i', y, y, nm, extra=lambda g: g.attrs.__setitem__('label_map', json.dumps({'zero': 0, 'one': 1, 'two': 2})))
    grp('json_i2n', y, y, nm, extra=lambda g: g['images'].attrs.__setitem__('label_map', json.dumps({'0': 'zero', '1': 'one', '2': 'two'})))
    grp('names_dataset', y, y, nm, extra=lambda g: g.__setitem__('class_names', np.array(nm, dtype=VSTR)))
    grp('enum', y, y, nm, dt=h5py.enum_dtype({'zero': 0, 'one': 1, 'two': 2}, basetype='i1'))
    grp('bool', np.array([True, False, False, True]), [1, 0, 0, 1], ['False', 'True'])
    grp('strings', np.array(['cat', 'dog', 'dog', 'a/b'], dtype=VSTR), ['cat', 'dog', 'dog', 'a/b'], note="folder for 'a/b' is a%2Fb")
    grp('target', y, y, labname='target')
    grp('unknown', np.array([-1, 0, 1, 2]), [-1, 0, 1, 2], note='-1 = unlabeled, own folder "-1"')
    # not classes
    g = f.create_group('multilabel')
    g['images'] = rgbs(N, 16, 16)
    g['labels'] = np.array([[1, 1, 0], [0, 0, 0], [1, 0, 1], [0, 1, 0]], 'u1')
    out.append(E_img('/multilabel/images', rgbs(N, 16, 16), 'NHWC', 'u8', rule='S1', note='rows do not sum to 1: no class view'))
    g = f.create_group('regress')
    g['images'] = rgbs(N, 16, 16)
    g['labels'] = np.array([.5, 1.25, 3, 4])
    out.append(E_img('/regress/images', rgbs(N, 16, 16), 'NHWC', 'u8', rule='S1', note='real valued: no class view'))
    g = f.create_group('short')
    g['images'] = rgbs(N, 16, 16)
    g['labels'] = np.array([0, 1])
    out.append(E_img('/short/images', rgbs(N, 16, 16), 'NHWC', 'u8', rule='S1', note='wrong length: no class view'))
    return out


# =====================================================================  I. links and structure


@layout('links.h5', 'links', 'soft, hard, external, dangling, cyclic, references, named types', custom=True)
def _(path):
    base = os.path.dirname(path)
    p = rgbs(2, 16, 16)
    with h5py.File(os.path.join(base, 'links_target.h5'), 'w') as t:
        t['images'] = p
        t['grp/v'] = np.arange(3)
    f = h5py.File(path, 'w')
    f['real/images'] = p
    f['hard'] = f['real/images']
    f['hardgrp'] = f['real']
    f['soft'] = h5py.SoftLink('/real/images')
    f['softrel'] = h5py.SoftLink('real/images')
    f['softgrp'] = h5py.SoftLink('/real')
    f['softdangling'] = h5py.SoftLink('/nowhere/x')
    f['ext'] = h5py.ExternalLink('links_target.h5', '/images')
    f['extgrp'] = h5py.ExternalLink('links_target.h5', '/grp')
    f['extmissing'] = h5py.ExternalLink('no_such_file.h5', '/images')
    f['extabs'] = h5py.ExternalLink('/etc/hostname', '/x')
    f['extup'] = h5py.ExternalLink('../outside.h5', '/x')
    f['cycle/self'] = f['/']
    g = f['cycle']
    g['me'] = g
    a, b = f.create_group('loop_a'), f.create_group('loop_b')
    a['b'] = b
    b['a'] = a
    f['softself'] = h5py.SoftLink('/softself')
    r = f.create_dataset('objrefs', (3,), dtype=h5py.ref_dtype)
    r[0] = f['real/images'].ref
    r[1] = f['real'].ref
    rr = f.create_dataset('regrefs', (1,), dtype=h5py.regionref_dtype)
    rr[0] = f['real/images'].regionref[0, 2:5]
    f['named_type'] = np.dtype('f4')
    f.create_dataset('uses_named', data=np.zeros(3, 'f4'))
    f.close()
    return [E_img('/real/images', p, 'NHWC', 'u8', rule='S1'),
            E_link('/hard', 'hard', '/real/images', expect='second directory entry of the same object (same inode, nlink 2)'),
            E_img('/hard', p, 'NHWC', 'u8', rule='S1'),
            E_link('/hardgrp', 'hard', '/real', expect='directory with the same content'),
            E_link('/soft', 'soft', '/real/images', expect='symlink, target relative inside the mount'),
            E_link('/softrel', 'soft', 'real/images', expect='symlink'),
            E_link('/softgrp', 'soft', '/real', expect='symlink to directory'),
            E_link('/softdangling', 'soft', '/nowhere/x', expect='dangling symlink, readdir still works'),
            E_link('/softself', 'soft', '/softself', expect='symlink; open gives ELOOP'),
            E_link('/ext', 'external', 'links_target.h5:/images', expect='followed: file is in the same directory'),
            E_img('/ext', p, 'NHWC', 'u8', rule='S1'),
            E_link('/extgrp', 'external', 'links_target.h5:/grp', expect='followed'),
            E_link('/extmissing', 'external', 'no_such_file.h5:/images', expect='dangling symlink "no_such_file.h5:/images"'),
            E_link('/extabs', 'external', '/etc/hostname:/x', expect='refused: absolute path outside the directory of the file'),
            E_link('/extup', 'external', '../outside.h5:/x', expect='refused: leaves the directory of the file'),
            E_link('/cycle/self', 'hard-cycle', '/', expect='symlink to the ancestor, so that find/du end'),
            E_link('/cycle/me', 'hard-cycle', '/cycle', expect='symlink to the ancestor'),
            E_link('/loop_a/b/a', 'hard-cycle', '/loop_a', expect='symlink to the ancestor'),
            E_json('/objrefs', ['/real/images', '/real', None]),
            E_misc('/regrefs', 'json', note='region reference: path plus selection'),
            E_misc('/named_type', 'txt', note='committed datatype: small text file with its description, not a directory')]


@layout('vds.h5', 'virtual dataset', 'h5py VirtualLayout over shards; one shard missing -> fill', custom=True)
def _(path):
    base = os.path.dirname(path)
    p = rgbs(6, 16, 16)
    for i in range(2):
        with h5py.File(os.path.join(base, 'vds_part%d.h5' % i), 'w') as s:
            s['x'] = p[2 * i:2 * i + 2]
    lay = h5py.VirtualLayout(shape=(6, 16, 16, 3), dtype='u1')
    for i in range(3):
        lay[2 * i:2 * i + 2] = h5py.VirtualSource('vds_part%d.h5' % i, 'x', shape=(2, 16, 16, 3))
    with h5py.File(path, 'w', libver='latest') as f:
        f.create_virtual_dataset('x', lay, fillvalue=9)
    q = p.copy()
    q[4:] = 9
    return [E_img('/x', q, 'NHWC', 'u8', rule='S1', note='samples 4,5 come from a missing file: fill value 9; not appendable')]


@layout('dimscales.h5', 'dimension scales', 'HDF5 dimension scales on an image stack; the scales themselves are vectors')
def _(f):
    p = grays(3, 20, 30)
    f['stack'] = p
    for n, a in (('z_um', np.arange(3.)), ('y_um', np.arange(20.)), ('x_um', np.arange(30.))):
        f[n] = a
        f[n].make_scale(n)
    for i, n in enumerate(('z_um', 'y_um', 'x_um')):
        f['stack'].dims[i].attach_scale(f[n])
    return [E_img('/stack', p, 'z_um y_um x_um', 'u8', rule='D4', note='scale names z_um.. map to z,y,x')]


@layout('odd_names.h5', 'names', 'HDF5 allows any bytes but "/" and NUL; "." alone is special', custom=True)
def _(path):
    f = h5py.File(path, 'w')
    a = np.arange(4)
    out = []
    names = [b'a.b', b'..', b'...', b'per%cent', b'%41', b'%2E%2E', 'ünïcode'.encode(), '图像'.encode(), '😀'.encode(), b'new\nline', b'tab\there',
             b' lead', b'trail ', b'caf\xe9', b'-rf', b'~', b'*?"<>|', b'back\\slash', b'a:b', b'Case', b'case', b'.hidden', b'\x01ctl', b'x' * 255, b'y' * 300]
    for nb in names:
        d = h5d.create(f.id, nb, h5t.STD_I64LE, h5s.create_simple((4,)))
        d.write(h5s.ALL, h5s.ALL, a)
    # collisions with generated names
    f['c'] = a
    f['c.npy'] = a + 1
    f['d'] = rgb(10, 12)
    f['d.png'] = rgb(10, 12, 1)
    f.create_group('e')
    f['e.npy'] = a
    f['dir.png/inner'] = a
    f['img/000000.png'] = rgb(10, 12, 3)
    f.close()
    ex = {b'..': '%2E%2E', b'%2E%2E': '%252E%252E', b'%41': '%2541'}
    for nb in names:
        s = nb.decode('utf-8', 'backslashreplace')
        shown = ex.get(nb, s)
        if len(nb) + 4 > 255:
            shown = '(shortened to 255 bytes with a hash, full name in xattr user.h5fs.name)'
        out.append(dict(path='/' + s, kind='npy', name_hex=nb.hex(), shown_as=shown + ('.npy' if len(nb) + 4 <= 255 else ''),
                        shape=[4], descr='<i8', sha256=sha(a.tobytes())))
    out += [E_img('/d', [rgb(10, 12)], 'HWC', 'u8', index=[[]], rule='S5a', note='shown as d.png'),
            E_img('/d.png', [rgb(10, 12, 1)], 'HWC', 'u8', index=[[]], rule='S5a', note='dataset name ends in .png: shown as d.png.png, no collision with d'),
            E_img('/img/000000.png', [rgb(10, 12, 3)], 'HWC', 'u8', index=[[]], rule='S5a'),
            E_misc('/c', 'npy', note='c -> c.npy, c.npy -> c.npy.npy: always append, never collide')]
    return out


@layout('attrs.h5', 'attributes', 'attributes of all sorts; dense storage, >64 KiB')
def _(f):
    d = f.create_dataset('x', data=rgbs(2, 16, 16))
    d.attrs['i'] = 5
    d.attrs['f'] = 2.5
    d.attrs['s'] = 'text'
    d.attrs['bytes'] = np.bytes_(b'fixed')
    d.attrs['vec'] = np.arange(5)
    d.attrs['mat'] = np.eye(3)
    d.attrs['strs'] = np.array(['a', 'b'], dtype=VSTR)
    d.attrs['json'] = '{"a": 1}'
    d.attrs['empty'] = ''
    d.attrs['null'] = h5py.Empty('f4')
    d.attrs['bool'] = True
    d.attrs['ref'] = d.ref
    d.attrs['cmp'] = np.array((1, 2.5), dtype=[('a', 'i4'), ('b', 'f8')])
    d.attrs['ünï code/with slash'] = 1
    d.attrs['n' * 250] = 'long name'
    d.attrs['big'] = np.arange(9000, dtype='i8') if False else np.arange(7000, dtype='i8')
    for i in range(40):
        d.attrs['k%03d' % i] = i
    return [E_img('/x', rgbs(2, 16, 16), 'NHWC', 'u8', rule='S1', note='attrs -> user.* xattrs; names over 250 bytes and values over 64 KiB need a fallback file')]


@layout('attrs_dense_latest.h5', 'attributes', 'libver latest dense attributes: one of 100 KB (xattr limit is 64 KiB)', libver='latest')
def _(f):
    d = f.create_dataset('x', data=np.arange(3), track_order=True)
    d.attrs.create('huge', np.arange(12500, dtype='i8'))
    d.attrs['model_config'] = 'x' * 90000
    d.attrs['small'] = 1
    return []


@layout('many.h5', 'scale', '3000 small datasets in one group, 60 levels of nesting', libver='latest')
def _(f):
    g = f.create_group('many', track_order=True)
    for i in range(3000):
        g['s%06d' % i] = i
    h = f
    for i in range(60):
        h = h.create_group('d')
    h['leaf'] = rgb(8, 8)
    return [E_img('/' + 'd/' * 60 + 'leaf', [rgb(8, 8)], 'HWC', 'u8', index=[[]], rule='S5a')]


@layout('huge_sparse.h5', 'scale', 'ten million unallocated samples: readdir must be lazy, stat must be O(1)')
def _(f):
    d = f.create_dataset('images', (10_000_000, 224, 224, 3), dtype='u1', chunks=(1, 224, 224, 3), maxshape=(None, 224, 224, 3), fillvalue=3)
    p = rgb(224, 224)
    d[0] = p
    d[9_999_999] = p
    return [dict(path='/images', kind='image', layout='NHWC', norm='u8', count=10_000_000, rule='S1',
                 png=dict(width=224, height=224, channels=3, bit_depth=8),
                 samples=[dict(ordinal=i, index=[i], width=224, height=224, raster_sha256=sha(raster(x)),
                               pixels=[dict(x=0, y=0, v=[int(t) for t in x[0, 0]])])
                          for i, x in ((0, p), (5_000_000, np.full((224, 224, 3), 3, 'u1')), (9_999_999, p))],
                 note='class and normalisation scans must not read everything')]


# =====================================================================  J. filters, storage, file states


@layout('filters.h5', 'filters', 'every filter of a stock libhdf5 build')
def _(f):
    p = rgbs(2, 32, 32)
    out = []
    for n, kw in (('plain', {}), ('gzip', dict(compression='gzip', compression_opts=9)), ('shuf_gzip', dict(compression='gzip', shuffle=True)),
                  ('lzf', dict(compression='lzf')), ('fletcher', dict(fletcher32=True)), ('szip', dict(compression='szip')),
                  ('scaleoffset', dict(scaleoffset=0)), ('chunk_rows', dict(chunks=(2, 5, 7, 3), compression='gzip')), ('chunk_all', dict(chunks=(2, 32, 32, 3)))):
        f.create_dataset('images_' + n, data=p, **kw)
        out.append(E_img('/images_' + n, p, 'NHWC', 'u8', rule='S1'))
    dc = h5p.create(h5p.DATASET_CREATE)
    dc.set_chunk((1, 32, 32, 3))
    dc.set_filter(5, 0, ())
    t = h5t.STD_U16LE.copy()
    t.set_precision(12)
    d = h5d.create(f.id, b'images_nbit', t, h5s.create_simple(p.shape), dc)
    q = p.astype('u2') * 16
    d.write(h5s.ALL, h5s.ALL, q)
    out.append(E_img('/images_nbit', q, 'NHWC', 'u16', rule='S1'))
    return out


@layout('filters_plugin.h5', 'filters', 'bitshuffle-lz4 32008, lz4 32004, blosc 32001, zstd 32015: frames written by hand; readable only with the plugin')
def _(f):
    v = np.stack([gray(32, 48, k).astype('u2') * 100 for k in range(2)])
    out = []
    for n, fid, cd, fr in (('bslz4', 32008, (0, 3, 2, 0, 2), lambda b: frame_bslz4(b, 2)),
                           ('lz4', 32004, (0,), frame_lz4),
                           ('blosc', 32001, (2, 2, 2, 32 * 48 * 2), lambda b: frame_blosc(b, 2)),
                           ('zstd', 32015, (3,), frame_zstd)):
        raw_chunk_dataset(f, 'images_' + n, v, fid, cd, fr)
        e = E_img('/images_' + n, list(v), 'NHW', 'u16', rule='S5c',
                  note='without plugin %d: list the samples, reading gives EIO and one log line naming the filter' % fid)
        e['needs_filter'] = fid
        out.append(e)
    return out


@layout('storage.h5', 'storage', 'compact, contiguous, external raw, unallocated with fill, partial edge chunks', custom=True)
def _(path):
    base = os.path.dirname(path)
    f = h5py.File(path, 'w')
    p = rgbs(2, 16, 16)
    out = []
    dc = h5p.create(h5p.DATASET_CREATE)
    dc.set_layout(h5d.COMPACT)
    d = h5d.create(f.id, b'compact', h5t.STD_U8LE, h5s.create_simple(p.shape), dc)
    d.write(h5s.ALL, h5s.ALL, p)
    out.append(E_img('/compact', p, 'NHWC', 'u8', rule='S1'))
    q = rgbs(2, 16, 16, 4)
    with open(os.path.join(base, 'storage_ext.bin'), 'wb') as fp:
        fp.write(q.tobytes())
    cwd = os.getcwd()
    os.chdir(base)
    dc = h5p.create(h5p.DATASET_CREATE)
    dc.set_external(b'storage_ext.bin', 0, q.nbytes)
    h5d.create(f.id, b'external', h5t.STD_U8LE, h5s.create_simple(q.shape), dc)
    os.chdir(cwd)
    e = E_img('/external', q, 'NHWC', 'u8', rule='S1', note='raw bytes in storage_ext.bin, relative to the process cwd unless H5Pset_efile_prefix(${ORIGIN})')
    e['external_raw'] = 'storage_ext.bin'
    out.append(e)
    f.create_dataset('unalloc', (3, 16, 16, 3), dtype='u1', fillvalue=77, chunks=(1, 16, 16, 3))
    out.append(E_img('/unalloc', np.full((3, 16, 16, 3), 77, 'u1'), 'NHWC', 'u8', rule='S1'))
    f.create_dataset('edge', data=p, chunks=(3, 10, 7, 2), maxshape=(None, 16, 16, 3))
    out.append(E_img('/edge', p, 'NHWC', 'u8', rule='S1'))
    f.close()
    return out


@layout('userblock.h5', 'file state', 'text in front of the superblock (offset 1024)', custom=True)
def _(path):
    p = rgbs(2, 16, 16)
    with h5py.File(path, 'w', userblock_size=1024) as f:
        f['images'] = p
    with open(path, 'r+b') as fp:
        fp.write(b'#!/usr/bin/env my-viewer\nnotes about this file\n'.ljust(1024, b' '))
    return [E_img('/images', p, 'NHWC', 'u8', rule='S1')]


@layout('libver_latest.h5', 'file state', 'superblock v3, v2 object headers, fixed/extensible array and btree2 chunk indexes', libver='latest')
def _(f):
    p = rgbs(3, 16, 16)
    f.create_dataset('fixed_array', data=p, chunks=(1, 16, 16, 3))
    f.create_dataset('ext_array', data=p, chunks=(1, 16, 16, 3), maxshape=(None, 16, 16, 3))
    f.create_dataset('btree2', data=p, chunks=(1, 16, 16, 3), maxshape=(None, None, 16, 3))
    f.create_dataset('single', data=p, chunks=(3, 16, 16, 3))
    return [E_img('/' + n, p, 'NHWC', 'u8', rule='S1') for n in ('fixed_array', 'ext_array', 'btree2', 'single')]


@layout('swmr_done.h5', 'file state', 'written in SWMR mode and closed', custom=True)
def _(path):
    p = rgbs(3, 16, 16)
    with h5py.File(path, 'w', libver='latest') as f:
        d = f.create_dataset('images', (0, 16, 16, 3), dtype='u1', maxshape=(None, 16, 16, 3), chunks=(1, 16, 16, 3))
        f.swmr_mode = True
        for k in range(3):
            d.resize(k + 1, axis=0)
            d[k] = p[k]
            d.flush()
    return [E_img('/images', p, 'NHWC', 'u8', rule='S1')]


@layout('swmr_crashed.h5', 'file state', 'copy taken while the SWMR writer had it open: consistency flag set (h5py#1807)', custom=True)
def _(path):
    p = rgbs(2, 16, 16)
    tmp = path + '.tmp'
    f = h5py.File(tmp, 'w', libver='latest')
    d = f.create_dataset('images', (2, 16, 16, 3), dtype='u1', maxshape=(None, 16, 16, 3), chunks=(1, 16, 16, 3))
    f.swmr_mode = True
    d[...] = p
    d.flush()
    f.flush()
    shutil.copy(tmp, path)
    f.close()
    os.remove(tmp)
    e = E_img('/images', p, 'NHWC', 'u8', rule='S1')
    e['open'] = 'read-only with H5F_ACC_SWMR_READ; read-write refused with a message that names h5clear -s'
    return [e]


@layout('superblock0_old.h5', 'file state', 'HDF5 1.6-style file: libver earliest', libver='earliest')
def _(f):
    p = rgbs(2, 16, 16)
    f['images'] = p
    return [E_img('/images', p, 'NHWC', 'u8', rule='S1')]


@layout('NEG_truncated.h5', 'must not mount', 'h5py#879, #1179, #2340: "truncated file: eof=..., stored_eof=..."', custom=True)
def _(path):
    with h5py.File(path, 'w') as f:
        f['images'] = rgbs(8, 32, 32)
    n = os.path.getsize(path)
    with open(path, 'r+b') as fp:
        fp.truncate(n // 2)
    return [dict(path='', kind='open_fails', message='truncated: file has %d bytes, superblock says %d' % (n // 2, n))]


@layout('NEG_mat_v5.mat', 'must not mount', 'PASCAL/SBD .mat are MATLAB 5.0, not HDF5', custom=True)
def _(path):
    with open(path, 'wb') as fp:
        fp.write(b'MATLAB 5.0 MAT-file, Platform: PCWIN'.ljust(124, b' ') + b'\x00\x01IM' + b'\0' * 64)
    return [dict(path='', kind='open_fails', message='MATLAB 5.0 MAT file, not HDF5 (resave with -v7.3)')]


@layout('NEG_pcam_x.h5.gz', 'must not mount', 'PCam is distributed as .h5.gz', custom=True)
def _(path):
    import gzip
    import io as _io
    b = _io.BytesIO()
    with h5py.File(b, 'w') as f:
        f['x'] = rgbs(1, 16, 16)
    with open(path, 'wb') as fp:
        fp.write(gzip.compress(b.getvalue(), mtime=0))
    return [dict(path='', kind='open_fails', message='gzip file: gunzip it first')]


@layout('NEG_empty_file.h5', 'must not mount', 'zero bytes', custom=True)
def _(path):
    open(path, 'wb').close()
    return [dict(path='', kind='open_fails', message='empty file')]


@layout('NEG_html.h5', 'must not mount', 'failed download: HTML saved as .h5 (pranavn91/APS train_signs.h5 is such a file)', custom=True)
def _(path):
    with open(path, 'wb') as fp:
        fp.write(b'<!DOCTYPE html><html><body>Sign in</body></html>')
    return [dict(path='', kind='open_fails', message='not HDF5: looks like HTML')]


# =====================================================================  K. layouts met in real test files


# =====================================================================  driver


def walk_datasets(f):
    """Every dataset reachable by hard links, once, with its first path."""
    out = []
    seen = set()

    def rec(g, prefix):
        for nb in g.id:
            li = g.id.links.get_info(nb)
            if li.type != h5py.h5l.TYPE_HARD:
                continue
            oid = h5py.h5o.open(g.id, nb)
            info = h5py.h5o.get_info(oid)
            key = (info.fileno, info.addr)
            if key in seen:
                continue
            seen.add(key)
            p = prefix + '/' + nb.decode('utf-8', 'backslashreplace')
            if isinstance(oid, h5py.h5g.GroupID):
                rec(h5py.Group(oid), p)
            elif isinstance(oid, h5py.h5d.DatasetID):
                out.append((p, h5py.Dataset(oid)))
    seen.add((h5py.h5o.get_info(f['/'].id).fileno, h5py.h5o.get_info(f['/'].id).addr))
    rec(f['/'], '')
    return out


def main():
    out = sys.argv[1]
    exp_path = sys.argv[2] if len(sys.argv) > 2 else None
    os.makedirs(out, exist_ok=True)
    doc = dict(
        about='What h5fs should show for each synthetic file. Written by make_layouts.py; do not edit.',
        conventions=dict(
            raster_sha256='sha256 of the decoded PNG raster: row major, channels interleaved; 1-bit pixels as bytes 0/1; 16-bit samples little endian; palette PNGs after palette expansion (RGB)',
            pixels='x to the right, y down, value list per channel in R,G,B,A or gray',
            npy_sha256='sha256 of the C-order little-endian array bytes with the given descr',
            sample_index='index along the non-picture axes, outermost first; [] = the dataset is one picture',
            auto='true = derived mechanically: a dataset that must NOT be shown as pictures',
            rule='rule number in RULES.md'),
        files={})
    for name, fn, meta in REG:
        path = os.path.join(out, name)
        if os.path.exists(path):
            os.remove(path)
        if meta['custom']:
            ents = fn(path)
        else:
            with h5py.File(path, 'w', libver=meta['libver'] or ('earliest', 'v110')) as f:
                ents = fn(f)
        rec = dict(domain=meta['domain'], source=meta['source'])
        if meta['note']:
            rec['note'] = meta['note']
        neg = any(e['kind'] == 'open_fails' for e in ents)
        if not neg:
            with h5py.File(path, 'r', swmr='crashed' in name, locking=False) as f:
                have = {e['path'] for e in ents}
                for p, d in walk_datasets(f):
                    if p not in have:
                        ents.append(auto_expect(f, p, d))
                rec['size'] = os.path.getsize(path)
                st = describe(f)
                rec['stored'] = st if len(st) <= 60 else {k: st[k] for k in list(st)[:5]}
                if len(st) > 60:
                    rec['stored_note'] = 'first 5 of %d' % len(st)
                for e in ents:
                    if e['kind'] in ('image', 'encoded') and e['path'] in st and 'maxshape' in st[e['path']]:
                        s = st[e['path']]
                        ax = {'HWN': 2, 'HWCN': 3}.get(e.get('layout'), 0)
                        if e.get('sample_index') == [[]] or len(s['shape']) == 0:
                            e['append'] = dict(ok=True, how='new dataset in the same group')
                        else:
                            mx = s['maxshape'][ax] if ax < len(s['maxshape']) else 0
                            ok = s['storage'] == 'chunked' and (mx is None or mx > s['shape'][ax])
                            e['append'] = dict(ok=bool(ok), how='H5Dset_extent' if ok else 'refused: fixed size')
                        if e.get('norm', '').endswith('minmax') or e.get('norm') in ('palette', 'range'):
                            e['append'] = dict(ok=False, how='refused: view is not invertible (%s)' % e['norm'])
        if len(ents) > 400:
            rec['datasets_note'] = 'only the explicit ones and 20 of the automatic ones are listed'
            ex = [e for e in ents if not e.get('auto')]
            ents = ex + [e for e in ents if e.get('auto')][:20]
        rec['datasets'] = ents
        doc['files'][name] = rec
    if exp_path:
        dump_json(doc, exp_path)
    print('%d files, %d dataset expectations' % (len(doc['files']), sum(len(r['datasets']) for r in doc['files'].values())))


if __name__ == '__main__':
    main()
