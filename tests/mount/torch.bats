#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# A loader that knows only folders, trains.
load ../lib/mount

make_shapes()
{
	py <<'PY'
rng = np.random.default_rng(7)
with h5py.File('d.h5', 'w') as f:
    for part, n in ('train', 60), ('val', 20):
        g = f.create_group(part)
        g.create_dataset('images', data=rng.integers(0, 256, (n, 32, 32, 3), 'u1'), chunks=(16, 32, 32, 3),
                         compression='gzip')
        g['labels'] = (np.arange(n) * 7 % 11).astype('i4')
        # Not in alphabetical order: the loader sorts names, a label is its own.
        g.attrs['label_names'] = ['plane', 'car', 'bird', 'cat', 'deer', 'dog', 'frog', 'horse', 'ship', 'truck', 'ant']
PY
}

# check DIR ORDER - every pixel; ORDER is `names` or `labels`
check()
{
	py "$@" <<'PY'
from torchvision.datasets import ImageFolder
top, order = sys.argv[1:]
ds = ImageFolder(top)
with h5py.File('d.h5', 'r', locking=False) as f:
    x, y = f['train/images'][...], f['train/labels'][...]
    names = [str(n) for n in f['train'].attrs['label_names']]
assert len(ds) == len(x), len(ds)
if order == 'labels':
    assert [c.split('_', 1)[1] if '_' in c else c for c in ds.classes] == names, ds.classes
else:
    assert ds.classes == sorted(names), ds.classes
for k, (path, target) in enumerate(ds.samples):
    i = int(os.path.basename(path)[:-4])
    if order == 'labels':
        assert target == y[i]
    else:
        assert ds.classes[target] == names[y[i]]
    picture, again = ds[k]
    assert again == target
    np.testing.assert_array_equal(np.asarray(picture), x[i], path)
PY
}

@test "ImageFolder over D.by-class: classes, count, every pixel" {
	make_shapes
	h5fs_mount d.h5
	check "$MNT/train/images.by-class" names
}

@test "ImageFolder over view=classes" {
	make_shapes
	h5fs_mount d.h5 view=classes
	check "$MNT/train" names
}

@test "with classes=both the loader's index is the label" {
	make_shapes
	h5fs_mount d.h5 classes=both
	ls "$MNT/train/images.by-class" | grep -qx 00_plane
	check "$MNT/train/images.by-class" labels
	h5fs_unmount
	h5fs_mount d.h5 view=classes classes=both
	check "$MNT/train" labels
}

@test "train and val have the same classes" {
	make_shapes
	h5fs_mount d.h5 view=classes classes=both
	py <<'PY'
from torchvision.datasets import ImageFolder
a, b = ImageFolder(MNT + '/train'), ImageFolder(MNT + '/val')
assert a.class_to_idx == b.class_to_idx and len(b) == 20
PY
}

@test "a DataLoader with two workers runs an epoch" {
	make_shapes
	h5fs_mount d.h5 view=classes classes=both
	py <<'PY'
import torch
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import ImageFolder
with h5py.File('d.h5', 'r', locking=False) as f:
    x, y = f['train/images'][...], f['train/labels'][...]
ds = ImageFolder(MNT + '/train', transforms.PILToTensor())
total, labels = 0, []
for pictures, targets in DataLoader(ds, batch_size=8, shuffle=True, num_workers=2):
    total += int(pictures.sum(dtype=torch.int64))
    labels += targets.tolist()
assert total == int(x.sum()) and sorted(labels) == sorted(y.tolist())
PY
}

@test "torchvision's own decoder reads a sample" {
	make_shapes
	h5fs_mount d.h5
	py <<'PY'
from torchvision.io import read_image
a = read_image(MNT + '/train/images/000005.png').permute(1, 2, 0).numpy()
with h5py.File('d.h5', 'r', locking=False) as f:
    np.testing.assert_array_equal(a, f['train/images'][5])
PY
}
