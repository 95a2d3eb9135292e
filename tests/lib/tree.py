#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What lies in a folder: a line an entry, sorted, by bytes and not by how it was reached.

usage: tree.py DIR [IGNORED]

  d PATH | l PATH TARGET | f PATH SIZE SHA256 | e PATH ERRNO (what could not be read)
Paths that the listing IGNORED tells as `e` are left out, so that a copy can be compared with what could be copied.
"""
import errno
import hashlib
import os
import sys


def escape(b):
    return b.decode('utf-8', 'backslashreplace').replace('\\', '\\\\').replace('\n', '\\n').replace(' ', '\\x20')


def describe(path, name):
    if os.path.islink(path):
        return 'l %s %s' % (name, escape(os.readlink(path)))
    if os.path.isdir(path):
        return 'd %s' % name
    size, h = 0, hashlib.sha256()
    try:
        fd = os.open(path, os.O_RDONLY)
        try:
            want = os.fstat(fd).st_size
            while True:
                b = os.read(fd, 1 << 20)
                if not b:
                    break
                size += len(b)
                h.update(b)
        finally:
            os.close(fd)
    except OSError as e:
        return 'e %s %s' % (name, errno.errorcode[e.errno])
    if size != want:
        return 'e %s SIZE(%d,%d)' % (name, want, size)
    return 'f %s %d %s' % (name, size, h.hexdigest())


def walk(top):
    todo = [b'']
    while todo:
        at = todo.pop()
        for n in os.listdir(os.path.join(top, at)):
            rel = os.path.join(at, n)
            path = os.path.join(top, rel)
            yield describe(path, escape(rel))
            if os.path.isdir(path) and not os.path.islink(path):
                todo.append(rel)


def main():
    top = os.fsencode(sys.argv[1])
    ignored = set()
    if len(sys.argv) > 2:
        ignored = {line.split(' ')[1] for line in open(sys.argv[2]) if line.startswith('e ')}
    lines = [line for line in walk(top) if line.split(' ')[1] not in ignored]
    sys.stdout.write(''.join(line + '\n' for line in sorted(lines)))


main()
