#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Stops a writer at each of its operations, and looks at what is left.

The workload runs once for each kind of file; a trace keeps what it did to the disk.
From the trace every state is made that the end of the process could have left (all
before an operation, and a part of it), and states that a loss of power could have
left: of what was not synced any part is there, whole or in some of its sectors. All
of them where they are few, else random ones.

Each state is looked at by h5py: it refuses the file, or reads exactly what was
committed before or after. Then it is recovered, and h5py and h5dump read one of the
two, which can be written to. Recovery is stopped in the same way.
"""
import argparse
import hashlib
import itertools
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
from multiprocessing import Process

import h5py
import numpy as np

SECTOR = 512
FEW = 6  # not synced: all subsets
FORMATS = {
    'earliest': dict(libver='earliest'),
    'latest': dict(libver='latest'),
    'userblock': dict(libver='earliest', userblock_size=1024),
    'userblock-latest': dict(libver='latest', userblock_size=512),
    'persist': dict(libver='earliest', fs_strategy='fsm', fs_persist=True, fs_threshold=1),
    'persist-latest': dict(libver='latest', fs_strategy='fsm', fs_persist=True, fs_threshold=1),
    'paged': dict(libver='latest', fs_strategy='page', fs_persist=True, fs_threshold=1),
}


def make(path, kind):
    rng = np.random.default_rng(1)
    with h5py.File(path, 'w', **FORMATS[kind]) as f:
        n = 20
        t = f.create_group('train')
        t.create_dataset('images', data=rng.integers(0, 255, (n, 16, 16, 3), 'u1'), chunks=(8, 16, 16, 3),
                         maxshape=(None, 16, 16, 3), compression='gzip', shuffle=True)
        t.create_dataset('labels', data=np.arange(n, dtype='i8'), chunks=(64,), maxshape=(None,))
        t.create_dataset('names', data=['old-%d' % i for i in range(n)], dtype=h5py.string_dtype(),
                         chunks=(32,), maxshape=(None,))
        t['images'].attrs['CLASS'] = 'IMAGE'
        f['fixed'] = rng.random((50, 8), 'f4')
        f['old'] = rng.integers(0, 9, (40, 40))
        f.create_group('big')
        for i in range(20):
            f['big/%d' % i] = np.arange(i)


# ---- what a program reads ----

def value_of(v):
    v = np.asarray(v)
    return repr(v.tolist()).encode() if v.dtype.hasobject else v.tobytes()


def walk(group, out):
    for name in sorted(group):
        link = group.get(name, getlink=True)
        out.append('%s %s' % (group.name, name))
        if isinstance(link, h5py.SoftLink):
            out.append('-> ' + link.path)
            continue
        obj = group[name]
        for a in sorted(obj.attrs):
            v = obj.attrs[a]
            out.append('%s %s %s' % (a, np.asarray(v).dtype, value_of(v)))
        if isinstance(obj, h5py.Group):
            walk(obj, out)
        else:
            out.append('%s %s %s %s' % (obj.dtype, obj.shape, obj.maxshape, obj.chunks))
            out.append(value_of(obj[()]))


def digest(path):
    """What all of the file is, or None when it is refused."""
    try:
        f = h5py.File(path, 'r')
    except OSError:
        return None
    out = []
    with f:
        walk(f['/'], out)
    h = hashlib.sha256()
    for x in out:
        h.update(x if isinstance(x, bytes) else x.encode())
    return h.hexdigest()


def dumped(path):
    """What is wrong with it for h5dump, or ''."""
    r = subprocess.run(['h5dump', path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return 'h5dump: ' + r.stderr if r.returncode else ''


def writable(path):
    """Can h5py go on writing it? What is wrong, or ''."""
    copy = path + '.copy'
    shutil.copyfile(path, copy)
    with h5py.File(copy, 'r+') as f:
        for i in range(30):
            f['later-%d' % i] = np.arange(1000 + i)
        del f['big']
        images = f['train/images']
        images.resize(images.shape[0] + 50, 0)
        images[-50:] = np.full((50,) + images.shape[1:], 7, 'u1')
        want = images[()]
    with h5py.File(copy, 'r') as f:
        same = np.array_equal(f['train/images'][()], want) and f['later-29'].shape == (1029,)
    os.remove(copy)
    return '' if same else 'what h5py wrote afterwards is not what it reads'


# ---- traces, and disks made of them ----

class Disk:
    def __init__(self):
        self.files, self.names, self.dirs = {}, {}, set()

    def copy(self):
        d = Disk()
        d.files = {k: bytearray(v) for k, v in self.files.items()}
        d.names, d.dirs = dict(self.names), set(self.dirs)
        return d

    def apply(self, op):
        kind = op[0]
        if kind == 'write':
            f, at, b = self.files.setdefault(op[1], bytearray()), op[2], op[3]
            if at > len(f):
                f.extend(bytes(at - len(f)))
            f[at:at + len(b)] = b
        elif kind == 'truncate':
            f, size = self.files.setdefault(op[1], bytearray()), op[2]
            del f[size:]
            f.extend(bytes(size - len(f)))
        elif kind == 'create':
            self.names[op[1]] = op[2]
            self.files.setdefault(op[2], bytearray())
        elif kind == 'mkdir':
            self.dirs.add(op[1])
        elif kind == 'rmdir':
            self.dirs.discard(op[1])
        elif kind == 'unlink':
            self.names.pop(op[1], None)
        elif kind == 'rename' and op[1] in self.names:
            self.names[op[2]] = self.names.pop(op[1])

    def put(self, root):
        """Makes it the contents of the directory root."""
        for e in os.scandir(root):
            shutil.rmtree(e.path) if e.is_dir() else os.remove(e.path)
        for d in self.dirs:
            os.mkdir(os.path.join(root, d))
        for name, inode in self.names.items():
            if os.path.dirname(name) in self.dirs | {''}:
                with open(os.path.join(root, name), 'wb') as f:
                    f.write(self.files[inode])

    @staticmethod
    def get(root):
        d = Disk()
        for where, dirs, files in os.walk(root):
            d.dirs.update(os.path.relpath(os.path.join(where, x), root) for x in dirs)
            for x in files:
                p = os.path.join(where, x)
                inode = len(d.files)
                d.files[inode] = bytearray(open(p, 'rb').read())
                d.names[os.path.relpath(p, root)] = inode
        return d


KINDS = 'file write truncate sync syncdir mkdir rmdir unlink rename event'.split()


def read_trace(path, root, first):
    """Operations by inode, beginning with the disk `first`."""
    data, at, ops = open(path, 'rb').read(), 0, []
    names, inodes, fresh = dict(first.names), {}, itertools.count(1000)

    def rel(b):
        return os.path.normpath(os.path.relpath(b.decode(), root))

    while at < len(data):
        kind, file, where, n = struct.unpack_from('<IIQQ', data, at)
        b = data[at + 24:at + 24 + n]
        at += 24 + n
        kind = KINDS[kind]
        if kind == 'file':
            p = rel(b)
            if where:
                names[p] = next(fresh)
                ops.append(('create', p, names[p]))
            inodes[file] = names[p]
        elif kind == 'write':
            ops.append((kind, inodes[file], where, b))
        elif kind == 'truncate':
            ops.append((kind, inodes[file], where))
        elif kind == 'sync':
            ops.append((kind, inodes[file]))
        elif kind == 'rename':
            a, c = (rel(x) for x in b.split(b'\0'))
            names[c] = names.pop(a)
            ops.append((kind, a, c))
        elif kind == 'event':
            ops.append((kind, b.decode()))
        else:
            p = rel(b)
            if kind == 'unlink':
                names.pop(p, None)
            ops.append((kind, '' if p == '.' else p))
    return ops


NAME_OPS = ('create', 'mkdir', 'rmdir', 'unlink', 'rename')


def sync_of(op):
    """What must be synced for op to be there for good."""
    return ('syncdir', os.path.dirname(op[1])) if op[0] in NAME_OPS else ('sync', op[1])


def unsynced(ops, k):
    """Of the operations before k, those that a loss of power may undo."""
    last = {op: i for i, op in enumerate(ops[:k]) if op[0] in ('sync', 'syncdir')}
    return [i for i, op in enumerate(ops[:k])
            if op[0] in ('write', 'truncate') + NAME_OPS and last.get(sync_of(op), -1) < i]


def tear(op, rng):
    """Some of the sectors of a write."""
    _, inode, at, b = op
    end = at + len(b)
    while at < end:
        stop = min((at // SECTOR + 1) * SECTOR, end)
        if rng.random() < .5:
            yield ('write', inode, at, b[at - op[2]:stop - op[2]])
        at = stop


def power_lost(disk, ops, pending, fates, rng):
    """fates: of each pending op `kept`, `lost` or `torn`. Names change in order.
    disk: with all that is synced before the first of them."""
    d, names_over = disk.copy(), False
    fate = dict(zip(pending, fates))
    start = pending[0] if pending else 0
    for i in range(start, ops[1]):
        op, f = ops[0][i], fate.get(i, 'kept')
        if op[0] in NAME_OPS:
            names_over |= f != 'kept'
            if names_over:
                continue
        if f == 'kept':
            d.apply(op)
        elif f == 'torn' and op[0] == 'write':
            for piece in tear(op, rng):
                d.apply(piece)
    return d


# ---- the check of one state ----

class Recoverer:
    """One process that recovers file after file."""

    def __init__(self, program):
        self.program, self.p = program, None

    def run(self, path, trace='-', kill_at=-1):
        if not self.p or self.p.poll() is not None:
            self.p = subprocess.Popen([self.program, 'recover'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      text=True)
        self.p.stdin.write('%s %s %d\n' % (path, trace, kill_at))
        self.p.stdin.flush()
        answer = self.p.stdout.readline().split(' ', 2)
        if len(answer) < 2:  # it ended as it was told to, or crashed
            code = self.p.wait()
            return ('killed', '') if kill_at >= 0 and code == 0 else ('crashed', 'exit status %d' % code)
        return int(answer[0]), ' '.join(answer[1:]).strip()

    def close(self):
        if self.p:
            self.p.stdin.close()
            self.p.wait()


class Checker:
    def __init__(self, kind, options, root):
        self.kind, self.o = kind, options
        self.rng = random.Random('%s %s' % (options.seed, kind))
        self.root = os.path.join(root, 'disk')
        self.trace = os.path.join(root, 'trace')
        self.path = os.path.join(self.root, 'data.h5')
        os.mkdir(self.root)
        self.recoverer = Recoverer(options.workload)
        self.read_before, self.read_after, self.seen, self.written = {}, {}, set(), set()
        self.given_up = {}
        self.count = dict(killed=0, power=0, recovery=0, refused=0, before=0, after=0, finished=0, undone=0)
        self.bad = 0

    def fail(self, what, where, disk):
        self.bad += 1
        print('%s: BAD: %s: %s' % (self.kind, where, what), flush=True)
        if self.bad <= 3 and self.o.keep:
            keep = os.path.join(self.o.keep, '%s-%d' % (self.kind, self.bad))
            os.makedirs(keep, exist_ok=True)
            disk.put(keep)

    def run_workload(self):
        make(self.path, self.kind)
        self.first = Disk.get(self.root)
        r = subprocess.run([self.o.workload, 'run', self.path, self.trace], stderr=subprocess.PIPE, text=True)
        if r.returncode:
            raise SystemExit('%s: the workload failed: %s' % (self.kind, r.stderr))
        self.ops = read_trace(self.trace, self.root, self.first)
        # the states that were committed, as the trace has them
        d = self.first.copy()
        self.states = [self.digest_of(d)]
        self.shortest = os.path.getsize(self.path)
        for op in self.ops:
            if op[0] == 'event' and op[1].startswith('end '):
                self.states.append(self.digest_of(d))
            d.apply(op)
        end = Disk.get(self.root)
        if d.files[d.names['data.h5']] != end.files[end.names['data.h5']]:
            raise SystemExit('%s: the trace does not lead to the file' % self.kind)
        self.learn_given_up()
        if None in self.states or len({*self.states, *self.given_up.values()}) != len(self.states) + len(self.given_up):
            raise SystemExit('%s: the states can not be told apart' % self.kind)
        d.put(self.root)
        if os.path.exists(os.path.join(self.root, '.data.h5.h5fs')):
            raise SystemExit('%s: .data.h5.h5fs is left' % self.kind)

    def digest_of(self, disk):
        disk.put(self.root)
        return digest(self.path)

    def allowed(self, k):
        """The states that operation k may have left, the one before first."""
        events = [op[1].split() for op in self.ops[:k] if op[0] == 'event']
        lo = sum(what == 'end' for what, _ in events)
        if not events or events[-1][0] != 'begin':
            return self.states[lo:lo + 1]
        name = events[-1][1]
        if name not in self.given_up:
            return self.states[lo:lo + 2]
        # logged, and given up then: in between it may be finished
        return [self.states[lo], self.given_up[name]]

    def learn_given_up(self):
        """What a commit that was logged, and not made, would have been."""
        for k, op in enumerate(self.ops):
            if op[0] == 'event' and op[1].startswith('over '):
                self.given_up[op[1].split()[1]] = self.finished_before(k)

    def finished_before(self, k):
        start = max(i for i in range(k) if self.ops[i][0] == 'event')
        for end in range(start, k):
            d = self.first.copy()
            for op in self.ops[:end]:
                d.apply(op)
            d.put(self.root)
            if self.recoverer.run(self.path)[1].startswith('finished'):
                return digest(self.path)
        raise SystemExit('%s: a commit that was given up was not logged' % self.kind)

    def file_hash(self):
        return hashlib.sha256(open(self.path, 'rb').read()).digest()

    def look(self, disk, k, where):
        """Before recovery: the number of the state that is read, or None."""
        key = self.file_hash()
        if key not in self.read_before:
            try:
                self.read_before[key] = digest(self.path)
            except Exception as e:
                self.read_before[key] = repr(e)
        got = self.read_before[key]
        allowed = self.allowed(k)
        if got is None:
            self.count['refused'] += 1
            return None
        if got not in allowed:
            self.fail('before recovery it is neither: ' + got[:80], where, disk)
            return None
        self.count['before' if got == allowed[0] else 'after'] += 1
        return allowed.index(got)

    def write_on(self):
        """Once for all files that differ in what is behind the committed end only, and
        sometimes for one of those."""
        with open(self.path, 'rb') as f:
            key = hashlib.sha256(f.read(self.shortest)).digest()
        if key in self.written and self.rng.random() > .02:
            return ''
        self.written.add(key)
        return writable(self.path)

    def look_after(self, disk, k, before, where):
        key = self.file_hash()
        if key not in self.read_after:
            try:
                self.read_after[key] = digest(self.path), dumped(self.path) or self.write_on()
            except Exception as e:
                self.read_after[key] = repr(e), ''
        got, why = self.read_after[key]
        allowed = self.allowed(k)
        if got not in allowed:
            self.fail('after recovery it is neither: %s' % (got or 'refused')[:80], where, disk)
        elif before is not None and allowed.index(got) < before:
            self.fail('recovery went back', where, disk)
        elif why:
            self.fail(why, where, disk)

    def check(self, disk, k, where):
        key = hashlib.sha256(repr(sorted((n, hashlib.sha256(disk.files[i]).hexdigest())
                                         for n, i in disk.names.items())).encode()).digest(), tuple(self.allowed(k))
        if key in self.seen:
            return
        self.seen.add(key)
        disk.put(self.root)
        before = self.look(disk, k, where)
        r, did = self.recoverer.run(self.path)
        if r != 0 or did.split()[0] not in ('none', 'finished', 'undone'):
            self.fail('recovery: %s %s' % (r, did), where, disk)
            return
        if did.split()[0] in self.count:
            self.count[did.split()[0]] += 1
        self.look_after(disk, k, before, where)

    # ---- all states ----

    def killed(self):
        d = self.first.copy()
        for k, op in enumerate(self.ops):
            if k % self.o.every:
                d.apply(op)
                continue
            self.count['killed'] += 1
            self.check(d, k, 'killed before operation %d' % k)
            if op[0] == 'write' and len(op[3]) > 1:
                for n in {1, len(op[3]) // 2, len(op[3]) - 1, self.rng.randrange(1, len(op[3]))}:
                    torn = d.copy()
                    torn.apply((op[0], op[1], op[2], op[3][:n]))
                    self.count['killed'] += 1
                    self.check(torn, k + 1, 'killed in operation %d after %d bytes' % (k, n))
            d.apply(op)

    def losses(self, ops, base, want):
        """(k, disk) of `want` states that a loss of power can leave, and all where few."""
        points, d, done = [], base.copy(), 0
        for k in range(1, len(ops) + 1):
            if ops[k - 1][0] != 'event' and k % self.o.every == 0:
                points.append((k, unsynced(ops, k)))
        each = -(-want // max(1, sum(1 for _, p in points if len(p) > 0)))
        for k, pending in points:
            start = pending[0] if pending else k
            while done < start:  # all before it is there for good
                d.apply(ops[done])
                done += 1
            if start < done:
                d, done = base.copy(), 0
                while done < start:
                    d.apply(ops[done])
                    done += 1
            if len(pending) <= FEW:
                for fates in itertools.product(('kept', 'lost'), repeat=len(pending)):
                    yield k, power_lost(d, (ops, k), pending, fates, self.rng)
            for _ in range(each if pending else 0):
                odds = self.rng.choice([(1, 1, 1), (6, 1, 1), (1, 6, 1), (1, 1, 6), (0, 0, 1), (1, 1, 0)])
                fates = self.rng.choices(('kept', 'lost', 'torn'), odds, k=len(pending))
                yield k, power_lost(d, (ops, k), pending, fates, self.rng)

    def power(self):
        for k, d in self.losses(self.ops, self.first, self.o.states):
            self.count['power'] += 1
            self.check(d, k, 'power lost at operation %d' % k)

    def recoveries(self):
        """States whose recovery has something to do, each stopped at each operation."""
        d, todo = self.first.copy(), []
        for k, op in enumerate(self.ops):
            todo.append((k, d.copy()))
            d.apply(op)
        todo += [(k, x) for k, x in self.losses(self.ops, self.first, self.o.recoveries)
                 if self.rng.random() < .5]
        self.rng.shuffle(todo)
        for k, disk in todo[:self.o.recoveries]:
            disk.put(self.root)
            r, did = self.recoverer.run(self.path, self.trace)
            if did.startswith('none'):
                continue
            first = disk.copy()
            ops = read_trace(self.trace, self.root, first)
            self.stop_recovery(k, first, ops)

    def stop_recovery(self, k, first, ops):
        where = 'recovery of operation %d stopped at %%d' % k
        d = first.copy()
        for i, op in enumerate(ops):
            self.count['recovery'] += 1
            self.check(d, k, where % i)
            if op[0] == 'write':
                torn = d.copy()
                torn.apply((op[0], op[1], op[2], op[3][:len(op[3]) // 2]))
                self.check(torn, k, where % i)
            d.apply(op)
        for i, lost in self.losses(ops, first, 20):
            self.count['recovery'] += 1
            self.check(lost, k, where % i + ' by a loss of power')
        first.put(self.root)  # and one whose process really ends
        i = self.rng.randrange(len(ops) + 1)
        r, did = self.recoverer.run(self.path, kill_at=i)
        if r == 'crashed':
            self.fail('recovery crashed: ' + did, where % i, first)
        self.check(Disk.get(self.root), k, where % i + ' by its end')

    def run(self):
        self.run_workload()
        self.killed()
        self.power()
        self.recoveries()
        self.recoverer.close()
        print('%-16s %d operations, %d commits; states: %s; %d distinct; bad: %d' % (
            self.kind, len(self.ops), len(self.states) - 1,
            ', '.join('%d %s' % (n, x) for x, n in self.count.items()), len(self.seen), self.bad), flush=True)
        return self.bad


def run_format(kind, options):
    with tempfile.TemporaryDirectory(prefix='h5fs-crash-', dir=options.tmp) as root:
        sys.exit(1 if Checker(kind, options, root).run() else 0)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--workload', required=True, help='the program crash_workload')
    p.add_argument('--formats', default=','.join(FORMATS), help='of: %(default)s')
    p.add_argument('--states', type=int, default=20000, help='random losses of power a format (%(default)s)')
    p.add_argument('--recoveries', type=int, default=200, help='recoveries that are stopped, a format (%(default)s)')
    p.add_argument('--every', type=int, default=1, help='only each so many operations (%(default)s)')
    p.add_argument('--jobs', type=int, default=os.cpu_count())
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--keep', help='a directory for the first states that are bad')
    p.add_argument('--tmp', default='/dev/shm' if os.access('/dev/shm', os.W_OK) else None)
    o = p.parse_args()
    todo, running, failed = o.formats.split(','), [], []
    while todo or running:
        while todo and len(running) < o.jobs:
            kind = todo.pop(0)
            running.append((kind, Process(target=run_format, args=(kind, o))))
            running[-1][1].start()
        running[0][1].join()
        kind, done = running.pop(0)
        if done.exitcode:
            failed.append(kind)
    if failed:
        print('failed: ' + ' '.join(failed))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
