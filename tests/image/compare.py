#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compare.py PICTURE_TOOL - what h5fs makes of image files, beside Pillow.

Decoding must give Pillow's pixels, all sizes Pillow's Lanczos, and a file that
is cut anywhere, or has a byte changed, an error or a picture, never a crash.
"""
import io
import os
import random
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image, ImageOps

FAILED = []


def check(ok, what):
    if not ok:
        FAILED.append(what)
        print("not so:", what)


class Tool:
    def __init__(self, path, folder):
        self.folder = folder
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def ask(self, data, want=""):
        """(array, depth, ncolours) or the text of the refusal."""
        path = os.path.join(self.folder, "file")
        with open(path, "wb") as f:
            f.write(data)
        self.process.stdin.write(f"{path} {want}\n".encode())
        self.process.stdin.flush()
        line = self.process.stdout.readline().decode()
        if not line:
            raise SystemExit(f"the tool died of {len(data)} bytes {want}")
        if line.startswith("-"):
            return line[2:].strip()
        w, h, c, bits, depth, ncolours, n = map(int, line.split())
        pixels = self.process.stdout.read(n)
        a = np.frombuffer(pixels, np.uint16 if bits == 16 else np.uint8)
        return a.reshape((h, w, c)[:2 + (c > 1)]), depth, ncolours

    def end(self):
        self.process.stdin.close()
        return self.process.wait()


def encode(image, **how):
    f = io.BytesIO()
    image.save(f, **how)
    return f.getvalue()


def scene(mode, w, h, seed=1):
    """Something with edges, gradients and noise."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:h, 0:w]
    a = np.stack([(x * 255 // max(w - 1, 1)), (y * 255 // max(h - 1, 1)),
                  ((x // 5 + y // 7) % 2) * 255,
                  255 - (x + y) * 200 // max(w + h - 2, 1)], -1)
    a = np.clip(a + rng.integers(-20, 20, a.shape), 0, 255).astype(np.uint8)
    if mode == "L":
        return Image.fromarray(a[..., 2])
    if mode == "LA":
        return Image.fromarray(np.ascontiguousarray(a[..., 2:]), "LA")
    if mode == "RGB":
        return Image.fromarray(np.ascontiguousarray(a[..., :3]))
    if mode == "RGBA":
        return Image.fromarray(a)
    if mode == "1":
        return Image.fromarray(a[..., 2]).point(lambda v: 255 * (v > 127), "1")
    if mode == "P":
        return Image.fromarray(np.ascontiguousarray(a[..., :3])).quantize(37)
    if mode == "I;16":
        return Image.fromarray(a[..., 0].astype(np.uint16) * 257 ^
                               a[..., 1])
    raise ValueError(mode)


def same_as_pillow(tool, data, what):
    got = tool.ask(data)
    if isinstance(got, str):
        return check(False, f"{what}: {got}")
    image = Image.open(io.BytesIO(data))
    image.load()
    if image.format != "TIFF":  # which Pillow turns when it loads it
        image = ImageOps.exif_transpose(image)
    if image.mode == "1":
        want = np.asarray(image).astype(np.uint8)
    elif image.mode in ("P", "L", "LA", "RGB", "RGBA"):
        want = np.asarray(image)
    else:
        want = np.asarray(image).astype(np.uint16)
    a = got[0]
    if image.mode == "1" and got[1] == 8:
        a = a // 255
    check(a.shape == want.shape and np.array_equal(a, want), what)


def decoding(tool):
    for w, h in (1, 1), (7, 5), (64, 48), (131, 77):
        for mode in "1", "L", "LA", "RGB", "RGBA", "P", "I;16":
            same_as_pillow(tool, encode(scene(mode, w, h), format="PNG"),
                           f"PNG {mode} {w}x{h}")
        for mode in "L", "RGB":
            for quality in 30, 95:
                for how in {}, {"progressive": True}, {"subsampling": 0}:
                    same_as_pillow(
                        tool, encode(scene(mode, w, h), format="JPEG",
                                     quality=quality, **how),
                        f"JPEG {mode} {w}x{h} {quality} {how}")
        for mode in "1", "L", "RGB", "P", "RGBA":
            same_as_pillow(tool, encode(scene(mode, w, h), format="BMP"),
                           f"BMP {mode} {w}x{h}")
        for mode in "L", "RGB", "RGBA", "I;16", "1":
            for how in {}, {"compression": "tiff_lzw"}, \
                    {"compression": "tiff_adobe_deflate"}:
                same_as_pillow(
                    tool, encode(scene(mode, w, h), format="TIFF", **how),
                    f"TIFF {mode} {w}x{h} {how}")
        for mode in "RGB", "RGBA":
            for how in {"lossless": True}, {"quality": 80}:
                same_as_pillow(
                    tool, encode(scene(mode, w, h), format="WebP", **how),
                    f"WebP {mode} {w}x{h} {how}")
        data = encode(scene("P", w, h), format="GIF")
        got = tool.ask(data)
        want = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
        check(not isinstance(got, str) and
              np.array_equal(got[0][..., :3], want), f"GIF {w}x{h}")


def orientations(tool):
    for format in "JPEG", "PNG", "TIFF", "WebP":
        for o in range(1, 9):
            image = scene("RGB", 23, 14)
            exif = Image.Exif()
            exif[0x0112] = o
            how = {"lossless": True} if format == "WebP" else {}
            data = encode(image, format=format, exif=exif, **how)
            same_as_pillow(tool, data, f"{format} orientation {o}")


def refused(tool, data, word, what):
    got = tool.ask(data)
    check(isinstance(got, str) and word in got,
          f"{what}: {got if isinstance(got, str) else 'taken'}")


def refusals(tool):
    rgb = scene("RGB", 20, 20)
    frames = dict(save_all=True, append_images=[rgb.rotate(90)])
    refused(tool, encode(rgb, format="GIF", **frames), "2 pages", "GIF frames")
    refused(tool, encode(rgb, format="WebP", **frames), "2 pages", "WebP frames")
    refused(tool, encode(rgb, format="TIFF", **frames), "2 pages", "TIFF pages")
    refused(tool, encode(rgb, format="PNG", **frames), "animated", "APNG")
    refused(tool, encode(rgb.convert("CMYK"), format="JPEG"), "CMYK", "CMYK")
    refused(tool, encode(rgb.convert("CMYK"), format="TIFF"), "CMYK",
            "CMYK TIFF")
    refused(tool, encode(rgb.convert("F"), format="TIFF"), "float",
            "float TIFF")
    refused(tool, encode(rgb, format="PPM"), "no image", "PPM")


def letterbox(image, want):
    (w, h), (ww, wh) = image.size, want
    if w * wh > h * ww:
        size = ww, max(1, (2 * h * ww + w) // (2 * w))
    else:
        size = max(1, (2 * w * wh + h) // (2 * h)), wh
    black = (0, 0, 0, 255) if image.mode == "RGBA" else 0
    out = Image.new(image.mode, want, black)
    out.paste(image.resize(size, Image.LANCZOS),
              ((ww - size[0]) // 2, (wh - size[1]) // 2))
    return out


def sizes(tool):
    rng = random.Random(5)
    pairs = [((64, 64), (64, 64)), ((64, 64), (32, 32)), ((100, 37), (17, 91)),
             ((640, 480), (64, 64)), ((3, 2), (50, 60)), ((1, 1), (9, 4)),
             ((1000, 10), (8, 64)), ((333, 500), (224, 224))]
    pairs += [((rng.randint(1, 300), rng.randint(1, 300)),
               (rng.randint(1, 200), rng.randint(1, 200))) for _ in range(40)]
    for n, (size, want) in enumerate(pairs):
        mode, c = [("RGB", 3), ("L", 1), ("RGBA", 4)][n % 3]
        image = scene(mode, *size)
        data = encode(image, format="PNG")
        for fit, theirs in (
                ("resize", image.resize(want, Image.LANCZOS)),
                ("letterbox", letterbox(image, want)),
                ("crop", ImageOps.fit(image, want, Image.LANCZOS))):
            got = tool.ask(data, f"{want[0]} {want[1]} {c} 8 0 0 {fit}")
            what = f"{mode} {size} {fit} to {want}"
            if isinstance(got, str):
                check(False, f"{what}: {got}")
                continue
            off = np.abs(got[0].astype(int) - np.asarray(theirs).astype(int))
            check(np.mean(off <= 2) >= 0.99, f"{what}: {np.mean(off <= 2)}")
            # Pillow rounds what alpha weighs otherwise, and its box of a crop.
            most = 255 if mode == "RGBA" else fit == "crop"
            check(off.max() <= most, f"{what}: off by {off.max()}")
        ids = image.convert("L")
        got = tool.ask(encode(ids, format="PNG"),
                       f"{want[0]} {want[1]} 1 8 1 0 resize")
        y, x = (((2 * np.arange(n) + 1) * m) // (2 * n)
                for m, n in zip(size[::-1], want[::-1]))
        check(np.array_equal(got[0], np.asarray(ids)[np.ix_(y, x)]),
              f"nearest {size} to {want}")


def damaged(tool):
    rng = random.Random(3)
    rgb = scene("RGB", 13, 9)
    files = {
        "PNG": encode(rgb, format="PNG"),
        "PNG of a palette": encode(scene("P", 13, 9), format="PNG"),
        "JPEG": encode(rgb, format="JPEG", quality=40),
        "progressive": encode(rgb, format="JPEG", progressive=True),
        "BMP": encode(rgb, format="BMP"),
        "BMP of a palette": encode(scene("P", 13, 9), format="BMP"),
        "WebP": encode(rgb, format="WebP"),
        "GIF": encode(rgb, format="GIF"),
        "TIFF": encode(rgb, format="TIFF"),
        "LZW": encode(rgb, format="TIFF", compression="tiff_lzw"),
    }
    for name, data in files.items():
        whole = tool.ask(data)[0]
        for n in range(len(data)):
            got = tool.ask(data[:n])
            if isinstance(got, str):
                continue
            # Of a TIFF the last bytes may be no pixels.
            check(name in ("TIFF", "LZW") and np.array_equal(got[0], whole),
                  f"{name} cut to {n} of {len(data)} bytes")
        for _ in range(400):
            bad = bytearray(data)
            for _ in range(rng.choice((1, 1, 2, 8))):
                bad[rng.randrange(len(bad))] = rng.randrange(256)
            tool.ask(bytes(bad))


def main():
    with tempfile.TemporaryDirectory() as folder:
        tool = Tool(sys.argv[1], folder)
        for test in decoding, orientations, refusals, sizes, damaged:
            before = len(FAILED)
            test(tool)
            print("ok" if len(FAILED) == before else "FAILED", test.__name__)
        check(tool.end() == 0, "the tool ends well")
    return 1 if FAILED else 0


sys.exit(main())
