#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# check-layers.sh is worth nothing if it lets things through: each rule, broken.

setup()
{
	CHECK=$(realpath "$BATS_TEST_DIRNAME/../../scripts/check-layers.sh")
	TREE=$BATS_TEST_TMPDIR
	mkdir -p "$TREE/include/h5fs" "$TREE/src/"{base,image,store,view,ns,fs,cmd}
}

# source FILE LINE... - a file that begins as each does, and then LINEs
source_file()
{
	local file=$TREE/$1

	shift
	printf '%s\n' '/* SPDX-License-Identifier: MIT */' "$@" >"$file"
}

complains() # PATTERN
{
	run "$CHECK" "$TREE"
	[ "$status" -eq 1 ] || { echo "exit $status: $output"; return 1; }
	[[ $output == *$1* ]] || { echo "said: $output"; return 1; }
}

@test "what the table allows passes" {
	source_file src/view/view_int.h
	source_file src/view/png.c '#include "h5fs/image.h"' '#include "view_int.h"'
	source_file src/ns/ns.c '#include "h5fs/view.h"' '#include "h5fs/array.h"'
	source_file src/store/chunk.c '#include <hdf5.h>' '#include "h5fs/base.h"'
	source_file src/fs/fs.c '#include <fuse_lowlevel.h>' '#include "h5fs/ns.h"'
	source_file src/cmd/main.c '#include "h5fs/fs.h"' '#include "h5fs/store.h"'
	run "$CHECK" "$TREE"
	[ "$status" -eq 0 ]
	[ -z "$output" ]
}

@test "an arrow upwards is told" {
	source_file src/store/store.c '#include "h5fs/view.h"'
	complains 'src/store/store.c:2: store may not include h5fs/view.h'
}

@test "image and store do not know each other" {
	source_file src/image/png.c '#include "h5fs/store.h"'
	complains 'image may not include h5fs/store.h'
}

@test "a contract obeys the arrows too" {
	source_file include/h5fs/base.h '# include "h5fs/ns.h"'
	complains 'include/h5fs/base.h:2: base may not include h5fs/ns.h'
}

@test "an internal header stays in its layer" {
	source_file src/store/store_int.h
	source_file src/ns/ns.c '#include "store_int.h"'
	complains 'src/ns/ns.c:2: store_int.h is no header of src/ns/'
	source_file src/ns/ns.c '#include "../store/store_int.h"'
	complains 'src/ns/ns.c:2: ../store/store_int.h is no header of src/ns/'
}

@test "foreign headers stay in their rooms" {
	source_file src/view/npy.c '#include <hdf5.h>'
	complains '<hdf5.h> belongs in src/store/*'
	source_file src/view/npy.c '#include <H5Dpublic.h>'
	complains '<H5Dpublic.h> belongs in'
	source_file src/view/npy.c '#include <fuse_lowlevel.h>'
	complains '<fuse_lowlevel.h> belongs in src/fs/*'
	source_file src/view/npy.c '#include <libdeflate.h>'
	complains '<libdeflate.h> belongs in src/store/filter.c'
	rm "$TREE/src/view/npy.c"
	source_file src/store/object.c '#include <jansson.h>'
	complains '<jansson.h> belongs in'
}

@test "Landlock is one file's business" {
	source_file src/cmd/a.c '#include <linux/landlock.h>'
	run "$CHECK" "$TREE"
	[ "$status" -eq 0 ]
	source_file src/fs/b.c '#include <linux/landlock.h>'
	complains '<linux/landlock.h> is in more than one file'
}

@test "a file without its licence line is told" {
	echo 'int x;' >"$TREE/src/base/x.c"
	complains 'src/base/x.c:1: no SPDX'
}

@test "a folder that is no layer is told" {
	mkdir "$TREE/src/misc"
	source_file src/misc/x.c
	complains '"misc" is no layer'
}
