#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Is expect.json what make_layouts.py writes today?

usage: check_expect.py FRESH.json

Other versions of Pillow or h5py encode other bytes: then it can not be said (exit 77, which CTest counts as skipped).
"""
import json
import os
import sys

import h5py
import PIL

HERE = os.path.dirname(os.path.abspath(__file__))
MADE_WITH = {'Pillow': '9.4.0', 'h5py': '3.7.0'}


def main():
    have = {'Pillow': PIL.__version__, 'h5py': h5py.__version__}
    if have != MADE_WITH:
        print('skipped: expect.json was written with %s, here is %s' % (MADE_WITH, have))
        return 77
    kept = json.load(open(os.path.join(HERE, 'expect.json')))
    fresh = json.load(open(sys.argv[1]))
    wrong = [n for n in sorted(set(kept['files']) | set(fresh['files']))
             if kept['files'].get(n) != fresh['files'].get(n)]
    for n in wrong:
        print('%s: not what make_layouts.py writes' % n)
    if not wrong and kept != fresh:
        print('expect.json: its head is not what make_layouts.py writes')
        return 1
    print('%d files, %d differ' % (len(fresh['files']), len(wrong)))
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
