#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes one system call and prints its errno's name, or OK.

usage: syscall.py CALL PATH [ARG...]
"""
import errno
import os
import sys


def read(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        while os.read(fd, 1 << 20):     # raises EAGAIN, which file objects swallow
            pass
    finally:
        os.close(fd)


def write(path):
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, b'x')
    finally:
        os.close(fd)


CALLS = {
    'read': read,
    'write': write,
    'open': lambda p: os.close(os.open(p, os.O_RDONLY)),
    'open_write': lambda p: os.close(os.open(p, os.O_WRONLY)),
    'create': lambda p: os.close(os.open(p, os.O_WRONLY | os.O_CREAT, 0o644)),
    'stat': os.stat,
    'listdir': os.listdir,
    'mkdir': os.mkdir,
    'rmdir': os.rmdir,
    'unlink': os.unlink,
    'chmod': lambda p: os.chmod(p, 0o600),
    'truncate': lambda p: os.truncate(p, 0),
    'utime': lambda p: os.utime(p, (1, 1)),
    'mknod': lambda p: os.mknod(p, 0o644),
    'rename': os.rename,
    'link': os.link,
    'symlink': lambda p, t: os.symlink(t, p),
    'getxattr': os.getxattr,
    'listxattr': os.listxattr,
    'setxattr': lambda p, n, v='1': os.setxattr(p, n, v.encode()),
    'setxattr_create': lambda p, n, v: os.setxattr(p, n, v.encode(), os.XATTR_CREATE),
    'setxattr_replace': lambda p, n, v: os.setxattr(p, n, v.encode(), os.XATTR_REPLACE),
    'removexattr': os.removexattr,
}


def main():
    try:
        CALLS[sys.argv[1]](*sys.argv[2:])
    except OSError as e:
        print('EOPNOTSUPP' if e.errno == errno.EOPNOTSUPP else errno.errorcode[e.errno])
    else:
        print('OK')


main()
