#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# info, status, export, and what the program says of itself.
load ../lib/mount

make_file()
{
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    g = f.create_group('train')
    g['images'] = np.arange(4 * 16 * 16 * 3).astype('u1').reshape(4, 16, 16, 3)
    g['labels'] = np.array([0, 1, 0, 1])
    g.attrs['label_names'] = ['cat', 'dog']
    f['notes'] = 'hello'
    f['soft'] = h5py.SoftLink('/train/images')
PY
}

@test "info names for each dataset the rule that fired, why, and its class folders" {
	make_file
	run "$H5FS" info d.h5
	assert_eq "$status" 0 "exit status ($output)"
	assert_match "$output" '*/train/images*S1*'
	assert_match "$output" '*images.by-class*'
	assert_match "$output" '*/notes*'
	run "$H5FS" info d.h5 /train/labels
	assert_eq "$status" 0
	assert_match "$output" '*/train/labels*'
	[[ $output != */notes* ]]
	run "$H5FS" info d.h5 /nothing
	assert_eq "$status" 1
	assert_match "$output" '*/nothing*'
}

@test "info says of each layout file what expect.json says" {
	py "$LAYOUTS" "$ROOT/tests/layouts/expect.json" "$H5FS" <<'PY'
import json, re, subprocess
folder, expect, h5fs = sys.argv[1:]
n, wrong = 0, []
for name, rec in json.load(open(expect))['files'].items():
    want = [e for e in rec['datasets'] if e['kind'] in ('image', 'encoded') and e['path'].isascii() and ' ' not in e['path']]
    if not want or name == 'links.h5':
        continue
    r = subprocess.run([h5fs, 'info', os.path.join(folder, name)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    text = r.stdout.decode('utf-8', 'replace')
    if r.returncode:
        wrong.append('%s: exit %d: %s' % (name, r.returncode, text[:100]))
        continue
    for e in want:
        rule = e['rule'].replace('T2+', '').replace('T3+', '')
        at = re.search(r'^\s*%s\b.*(\n(?!\s*/).*)*' % re.escape(e['path']), text, re.M)
        if not at or not re.search(r'(?<![\w+])%s(?![\w+])' % re.escape(rule), at.group(0)):
            wrong.append('%s %s: no %s in %.100r' % (name, e['path'], rule, at and at.group(0)))
        n += 1
print('\n'.join(wrong[:20]), '\n%d of %d wrong' % (len(wrong), n))
assert n > 150 and not wrong
PY
}

@test "status of a mount, for people and for programs" {
	make_file
	h5fs_mount d.h5
	cat "$MNT/train/images/000000.png" >/dev/null
	run "$H5FS" status "$MNT"
	assert_eq "$status" 0 "exit status ($output)"
	assert_match "$output" '*d.h5*'
	"$H5FS" status --json "$MNT" >status.json
	py <<'PY'
import json
a = json.load(open('status.json'))
assert isinstance(a, dict) and os.path.basename(a['file']) == 'd.h5', a
assert isinstance(json.load(open(MNT + '/.h5fs/status')), dict)
PY
	mkdir none
	run "$H5FS" status none
	assert_eq "$status" 1
	assert_match "$output" '*none*'
}

@test "metrics are Prometheus text" {
	make_file
	h5fs_mount d.h5
	cat "$MNT/train/images/000000.png" >/dev/null
	py <<'PY'
import re
seen = set()
for line in open(MNT + '/.h5fs/metrics').read().strip('\n').split('\n'):
    if line.startswith('#') or not line:
        assert not line or re.match(r'# (HELP|TYPE) h5fs_\w+ .+', line), line
        continue
    m = re.fullmatch(r'(h5fs_\w+)(\{.*\})? ([0-9.e+]+)', line)
    assert m, line
    seen.add(m.group(1))
assert {'h5fs_bytes_read_total', 'h5fs_cache_hits_total', 'h5fs_cache_misses_total', 'h5fs_chunks_decoded_total',
        'h5fs_library_reads_total'} <= seen, seen
PY
}

@test "export writes the same tree" {
	make_file
	h5fs_mount d.h5
	cp -a "$MNT" copy
	"$H5FS" export d.h5 out
	diff -r --no-dereference copy out
	assert_eq "$(stat -c %Y out/train/images/000001.png)" "$(stat -c %Y "$MNT/train/images/000001.png")"
}

@test "export takes the tree's options, and never overwrites" {
	make_file
	"$H5FS" export -o view=classes,classes=both d.h5 out
	ls_is out/train 0_cat 1_dog
	mkdir full
	echo mine >full/notes.txt
	run "$H5FS" export d.h5 full
	assert_eq "$status" 1
	assert_eq "$(cat full/notes.txt)" mine
}

@test "export of what can not be read goes on, tells it, and exits with 1" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    dcpl.set_chunk((1, 16, 16, 3))
    dcpl.set_filter(32123, 1, (1, 2))
    d = h5py.h5d.create(f.id, b'images', h5py.h5t.NATIVE_UINT8, h5py.h5s.create_simple((2, 16, 16, 3)), dcpl)
    d.write_direct_chunk((0, 0, 0, 0), b'\1' * 768, 0)
    f['x'] = np.arange(4)
PY
	run "$H5FS" export d.h5 out
	assert_eq "$status" 1
	assert_match "$output" '*images*'
	py <<'PY'
assert np.load('out/x.npy').tolist() == [0, 1, 2, 3]
PY
}

@test "--help fits one screen, --version names the libraries" {
	run "$H5FS" --help
	assert_eq "$status" 0
	[ "${#lines[@]}" -le 24 ] || { echo "${#lines[@]} lines"; false; }
	for c in info status export commit discard recover; do
		assert_match "$output" "*$c*"
	done
	run "$H5FS" --version
	assert_eq "$status" 0
	assert_match "$output" '*h5fs*HDF5*1.*'
	assert_match "$output" '*libfuse*3.*'
}

@test "usage errors exit with 2" {
	run "$H5FS"
	assert_eq "$status" 2
	run "$H5FS" info
	assert_eq "$status" 2
	run "$H5FS" export d.h5
	assert_eq "$status" 2
	run "$H5FS" --frobnicate
	assert_eq "$status" 2
	run "$H5FS" a b c
	assert_eq "$status" 2
}

@test "on a terminal a mount says where to point a loader" {
	"$PYTHON" -c 'import os; os.openpty()' 2>/dev/null || skip "no terminals here"
	make_file
	py "$H5FS" >said <<'PY'
import pty
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], 'd.h5', MNT])
out = b''
try:
    while True:
        b = os.read(fd, 4096)
        if not b:
            break
        out += b
except OSError:
    pass
os.waitpid(pid, 0)
print(out.decode())
PY
	cat said
	is_mounted "$MNT"
	grep -q 'images.by-class' said
	umount "$MNT"
}

@test "status tells the last errors and what helps" {
	cp "$LAYOUTS/filters_plugin.h5" d.h5
	h5fs_mount d.h5
	assert_errno EIO read "$MNT/images_zstd/000000.png"
	sleep 1.1 # a snapshot is kept for a second
	"$H5FS" status --json "$MNT" >status.json
	py <<'PY'
import json
e = json.load(open('status.json'))['last_errors']
assert e[0]['path'] == '/images_zstd' and '32015' in e[0]['reason'] and 'HDF5_PLUGIN_PATH' in e[0]['remedy'], e
PY
	"$H5FS" status "$MNT" | grep -q HDF5_PLUGIN_PATH
}

@test "info names class folders of single pictures, and what was done to pictures" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    for i, c in enumerate(('cat', 'dog')):
        f['gal/image%d' % i] = np.zeros((16, 16, 3), 'u1')
        f['gal/image%d' % i].attrs['label'] = c
    f['images'] = np.zeros((2, 16, 16, 3), 'u1')
PY
	"$H5FS" info -o layout=/images:NHWC+bands=2,1,0+flipv d.h5 >said
	grep -q 'class folders: gal.by-class/ (cat, dog)' said
	grep -q 'axes NHWC+flipv+bands=2,1,0' said
	h5fs_mount d.h5 'layout=/images:NHWC+bands=2\,1\,0+flipv'
	assert_xattr "$MNT/images" user.h5fs.layout NHWC+flipv+bands=2,1,0
}
