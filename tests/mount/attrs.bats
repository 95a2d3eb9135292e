#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Attributes as extended attributes, as files, and as questions.
load ../lib/mount

make_patients()
{
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    f.attrs['title'] = 'Patients'
    f.attrs['long_note'] = '{"big": "' + 'x' * 100000 + '"}'
    for k, (age, gender, weight) in enumerate([(70, 'male', 80.5), (40, 'female', 60.), (66, 'male', 75.), (65, 'male', 1e-3)]):
        g = f.create_group('patients/P%03d' % k)
        g.attrs['age'], g.attrs['gender'], g.attrs['weight'] = age, gender, weight
        g['images'] = np.full((2, 16, 16, 3), k, 'u1')
    d = f['patients/P000/images']
    d.attrs['scale'] = 0.1
    d.attrs['single'] = np.float32(0.1)
    d.attrs['count'] = np.int64(-2**63)
    d.attrs['list'] = np.array([1, 2, 3])
    d.attrs['words'] = ['a', 'b"c']
    d.attrs['flag'] = np.bool_(True)
    d.attrs['latin'] = np.bytes_(b'caf\xe9')
    d.attrs['pair'] = np.array((1, 2.5), [('a', 'i4'), ('b', 'f8')])
    d.attrs['ref'] = f['patients'].ref
    d.attrs.create('kind', 1, dtype=h5py.enum_dtype({'OFF': 0, 'ON': 1}))
    f['table'] = np.arange(6.).reshape(2, 3)
    f['table'].attrs['unit'] = 'mm'
PY
}

@test "attributes are xattrs of the directory or file of their object" {
	make_patients
	h5fs_mount d.h5
	assert_xattr "$MNT" user.title Patients
	assert_xattr "$MNT/patients/P000" user.age 70
	assert_xattr "$MNT/table.npy" user.unit mm
	assert_xattr "$MNT/table.txt" user.unit mm
	assert_xattr "$MNT/patients/P000/images" user.scale 0.1
	no_xattr "$MNT/patients/P000/images" user.nothing
}

@test "their text: numbers round-trip, arrays are JSON, enums names, references paths" {
	make_patients
	h5fs_mount d.h5
	d=$MNT/patients/P000/images
	assert_eq "$(xattr "$d" user.single)" 0.1
	assert_xattr "$d" user.count -9223372036854775808
	assert_xattr "$d" user.kind ON
	assert_xattr "$d" user.ref /patients
	assert_eq "$(xattr "$d" user.latin | od -An -tx1 | tr -d ' ')" 636166e9
	py "$d" <<'PY'
import json
x = lambda n: json.loads(os.getxattr(sys.argv[1], 'user.' + n))
assert x('list') == [1, 2, 3] and x('words') == ['a', 'b"c']
assert x('pair') in ({'a': 1, 'b': 2.5}, [1, 2.5]), x('pair')
PY
	assert_match "$(xattr "$d" user.flag)" '[tT]*'
}

@test "facts are user.h5fs.*" {
	h5_make d.h5 images:u8:6x16x16x3:gzip:shuffle:chunk=2x16x16x3 labels:i32:6:mod=3
	h5fs_mount d.h5
	d=$MNT/images
	assert_xattr "$d" user.h5fs.path /images
	assert_xattr "$d" user.h5fs.rule S1
	assert_xattr "$d" user.h5fs.layout NHWC
	py "$d" <<'PY'
import json
x = lambda n: os.getxattr(sys.argv[1], 'user.h5fs.' + n).decode()
assert json.loads(x('shape')) == [6, 16, 16, 3], x('shape')
assert json.loads(x('chunks')) == [2, 16, 16, 3], x('chunks')
assert 'u1' in x('dtype') and 'gzip' in x('filters') and 'shuffle' in x('filters')
PY
}

@test "a sample carries its row" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    f['images'] = np.zeros((3, 16, 16, 3), 'u1')
    f['labels'] = np.array([1, 0, 1])
    f['labels'].attrs['label_names'] = ['cat', 'dog']
    f['age'] = np.array([7., 8.5, 9.])
    f['box'] = np.arange(12).reshape(3, 4)
PY
	h5fs_mount d.h5
	f=$MNT/images/000001.png
	assert_xattr "$f" user.label 0
	assert_xattr "$f" user.class cat
	assert_xattr "$f" user.age 8.5
	assert_eq "$(xattr "$f" user.box | tr -d ' ')" '[4,5,6,7]'
}

@test "getfattr -d shows all of it and complains of nothing" {
	make_patients
	h5fs_mount d.h5
	getfattr --absolute-names -dR "$MNT" >out 2>err
	[ ! -s err ] || { cat err; false; }
	grep -q '^user.gender="male"' out
	refute grep -q '^user.long_note=' out
}

@test "what is too long for an xattr is a file, and told" {
	make_patients
	h5fs_mount d.h5
	assert_match "$(xattr "$MNT" user.h5fs.more)" '*.attrs*'
	assert_eq "$(wc -c <"$MNT/.attrs/long_note")" 100011
	assert_eq "$(stat -c %s "$MNT/.attrs/long_note")" 100011
}

@test ".attrs is the same as files, and not listed" {
	make_patients
	h5fs_mount d.h5
	assert_eq "$(cat "$MNT/.attrs/title")" Patients
	assert_eq "$(cat "$MNT/patients/P002/.attrs/age")" 66
	assert_eq "$(cat "$MNT/patients/P000/images/.attrs/scale")" 0.1
	assert_eq "$(cat "$MNT/.attrs.table/unit")" mm
	ls_is "$MNT/patients/P002/.attrs" age gender weight
	ls_is "$MNT/patients/P002" images images.npy
	assert_errno ENOENT stat "$MNT/.attrs/nothing"
	assert_errno ENOENT stat "$MNT/.attrs.nothing"
}

@test "security.* and system.* are not supported, and coreutils stop asking" {
	make_patients
	h5fs_mount d.h5
	assert_errno EOPNOTSUPP getxattr "$MNT/table.npy" security.capability
	assert_errno EOPNOTSUPP getxattr "$MNT/table.npy" system.posix_acl_access
}

@test "@EXPR holds links to the children whose attributes satisfy it" {
	make_patients
	h5fs_mount d.h5
	cd "$MNT/patients"
	ls_is '@age>65' P000 P002
	ls_is '@age>=65,gender=male' P000 P002 P003
	ls_is '@gender=female' P001
	ls_is '@gender!=male' P001
	ls_is '@weight<1' P003
	ls_is '@age=1000'
	ls_is '@!weight'
	ls_is '@weight' P000 P001 P002 P003
	assert_eq "$(readlink '@age>65/P002')" ../P002
	[ -f '@age>65/P002/images/000001.png' ]
	assert_eq "$(ls | grep -c @)" 0
	for e in @ '@>5' '@=x' '@age>65,'; do
		assert_errno ENOENT stat "$MNT/patients/$e"
	done
	cd "$TMP"
}

@test "thousands of attributes: each is read once for a listing, the list is cut at 64 KiB" {
	py <<'PY'
with h5py.File('d.h5', 'w', libver='latest') as f:
    d = f.create_dataset('table', data=np.arange(6.).reshape(2, 3), track_order=True)
    for i in range(3000):
        d.attrs['attribute_%05d_of_a_long_name' % i] = i
    d.attrs['zz'] = 'last'
PY
	h5fs_mount d.h5
	start=$(date +%s)
	getfattr --absolute-names -d "$MNT/table.npy" >out 2>err
	took=$(($(date +%s) - start))
	echo "took $took s"
	[ -n "$SANITIZE" ] || [ "$took" -lt 10 ]
	[ ! -s err ] || { cat err; false; }
	n=$(grep -c '^user.attribute_' out)
	[ "$n" -gt 1500 ] && [ "$n" -lt 3000 ]
	assert_eq "$(xattr "$MNT/table.npy" user.h5fs.more)" .attrs.table/
	assert_eq "$(xattr "$MNT/table.npy" user.zz)" last
	assert_eq "$(ls "$MNT/.attrs.table" | wc -l)" 3001
}

@test "a row that is longer than an xattr can be is not listed with a sample" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    f['images'] = np.zeros((3, 16, 16, 3), 'u1')
    f['labels'] = np.array([1, 0, 1])
    f['short'] = np.zeros((3, 2000), 'f8')
    f['wide'] = np.zeros((3, 70000), 'u1')
    f['random'] = np.random.default_rng(0).random((3, 20000))
    f['zeros'] = np.zeros((3, 20000))
    d = f.create_dataset('caption', (3,), h5py.string_dtype())
    d[:] = ['one', 'x' * 70000, 'three']
PY
	h5fs_mount d.h5
	getfattr --absolute-names -d "$MNT/images/"*.png >out 2>err
	[ ! -s err ] || { cat err; false; }
	assert_eq "$(grep -c '^user.short=' out)" 3
	assert_eq "$(grep -c '^user.caption=' out)" 2
	assert_eq "$(grep -c '^user.zeros=' out)" 3
	refute grep -q -e '^user.wide=' -e '^user.random=' out
	assert_eq "$(xattr "$MNT/images/000002.png" user.caption)" three
}

@test "@EXPR asks the target of each soft link, and the right one" {
	py <<'PY'
with h5py.File('d.h5', 'w') as f:
    for i in range(2):
        f['things/%d' % i] = np.arange(70.).reshape(1, 70)
        f['things/%d' % i].attrs['k'] = i
    g = f.create_group('links')
    g['a'] = h5py.SoftLink('/things/0')
    g['a.b'] = h5py.SoftLink('/things/1')
    g['dangling'] = h5py.SoftLink('/nowhere')
    for i in range(3000):
        g['many_%04d' % i] = h5py.SoftLink('/things/%d' % (i % 2))
PY
	h5fs_mount d.h5
	start=$(date +%s)
	ls "$MNT/links/@k=1" >ones
	took=$(($(date +%s) - start))
	echo "took $took s"
	[ -n "$SANITIZE" ] || [ "$took" -lt 5 ]
	assert_eq "$(wc -l <ones)" 1501
	grep -qx a.b.npy ones
	assert_eq "$(ls "$MNT/links/@k=0" | grep -cx -e a.npy -e a.b.npy)" 1
	ls "$MNT/links/@k=1" | cmp - ones
}

@test "many questions at once each have their own answer" {
	make_patients
	h5fs_mount d.h5
	py <<'PY'
top = MNT + '/patients/'
fds = [os.open(top + '@age>%d' % i, os.O_RDONLY) for i in range(400)]
for i in 0, 41, 67, 399:
    want = sorted('P%03d' % k for k, age in enumerate([70, 40, 66, 65]) if age > i)
    assert sorted(os.listdir(fds[i])) == want, i
for fd in fds:
    os.close(fd)
assert sorted(os.listdir(top + '@age>65')) == ['P000', 'P002']
PY
}
