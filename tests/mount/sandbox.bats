#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The daemon confines itself, and what lies outside stays outside.
load ../lib/mount

SECRET=the-secret-of-another-folder

# d.h5 in `in` whose raw data, virtual sources and links lead to `out`.
make_leaky()
{
	mkdir in out
	yes "$SECRET" | head -c 4096 >out/secret.bin
	ln -s ../out/secret.bin in/alias.bin
	py <<'PY'
with h5py.File('out/side.h5', 'w') as f:
    f['x'] = np.frombuffer(open('out/secret.bin', 'rb').read(), 'u1')
def external(f, name, path):
    dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    dcpl.set_external(path.encode(), 0, 4096)
    h5py.h5d.create(f.id, name.encode(), h5py.h5t.NATIVE_UINT8, h5py.h5s.create_simple((4096,)), dcpl)
here = os.getcwd()
open('in/ok.bin', 'wb').write(b'\7' * 4096)
with h5py.File('in/d.h5', 'w') as f:
    external(f, 'raw_up', '../out/secret.bin')
    external(f, 'raw_abs', here + '/out/secret.bin')
    external(f, 'raw_alias', 'alias.bin')
    external(f, 'raw_ok', 'ok.bin')
    for name, path in ('vds_up', '../out/side.h5'), ('vds_abs', here + '/out/side.h5'):
        v = h5py.VirtualLayout((4096,), 'u1')
        v[:] = h5py.VirtualSource(path, 'x', (4096,), 'u1')
        f.create_virtual_dataset(name, v)
    f['good'] = np.arange(3)
PY
}

@test "raw data and virtual sources outside FILE's directory are never shown" {
	make_leaky
	h5fs_mount in/d.h5
	for d in raw_up raw_abs raw_alias vds_up vds_abs; do
		for f in "$MNT/$d".*; do
			refute grep -q "$SECRET" "$f" 2>/dev/null
		done
	done
	for d in raw_up raw_abs raw_alias; do
		case $("$PYTHON" "$LIB/syscall.py" read "$MNT/$d.npy") in
		EIO | EACCES) ;;
		*) echo "$d is read"; false ;;
		esac
	done
	assert_match "$(cat "$MNT/.h5fs/errors")" '*/raw_*'
}

@test "what lies inside is" {
	make_leaky
	h5fs_mount in/d.h5
	py <<'PY'
assert np.load(MNT + '/raw_ok.npy').tolist() == [7] * 4096
assert np.load(MNT + '/good.npy').tolist() == [0, 1, 2]
PY
}

@test "external=follow reads them" {
	make_leaky
	h5fs_mount in/d.h5 external=follow
	grep -q "$SECRET" "$MNT/raw_up.npy"
	grep -q "$SECRET" "$MNT/vds_abs.npy"
}

@test "the daemon has no new privileges, unless told so" {
	h5_make d.h5 x:u8:3
	h5fs_mount d.h5
	assert_eq "$(awk '/^NoNewPrivs/ { print $2 }' "/proc/$(daemon_pid)/status")" 1
	h5fs_unmount
	h5fs_mount d.h5 nosandbox
	assert_eq "$(awk '/^NoNewPrivs/ { print $2 }' "/proc/$(daemon_pid)/status")" 0
}

@test "a FILE whose external link leads into its own mount does not hang" {
	mkdir own
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    f['x'] = np.arange(3)
    f['loop'] = h5py.ExternalLink('own/inside.h5', '/x')
PY
	MNT=$TMP/own
	h5fs_mount d.h5
	timeout 20 ls -lR "$MNT" >/dev/null || [ $? -ne 124 ]
	timeout 20 cat "$MNT/x.npy" >/dev/null
}
