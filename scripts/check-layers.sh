#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check-layers.sh [TREE] - keeps the arrows of src/README.md: which layer may
# include which, and in which room a foreign header may be. Prints each line
# that breaks a rule; exit 1 if there is one.
set -u
cd "${1:-$(dirname "$0")/..}" || exit 2
bad=0

# Layer: the contracts (include/h5fs/*.h) that its files may include, beside its
# own. array.h is base's, layout.h is image's.
declare -A allowed=(
	[base]="base array"
	[image]="image layout base array"
	[store]="store base array"
	[view]="view image layout store base array"
	[ns]="ns view stage layout store base array"
	[stage]="stage image layout store base array"
	[fs]="fs ns stage base array"
	[cmd]="*"
)
# The contracts themselves obey the same arrows: a header's layer.
declare -A layer_of=([array]=base [layout]=image)
# Foreign header (a pattern): the files (patterns) that may include it.
foreign=(
	'fuse*.h'         'src/fs/*'
	'fuse3/*'         'src/fs/*'
	'linux/fuse.h'    'src/fs/*'
	'hdf5.h'          'src/store/*'
	'H5*.h'           'src/store/*'
	'hdf5/*'          'src/store/*'
	'libdeflate.h'    'src/store/filter.c src/store/compress.c src/store/crc.c src/store/points.c src/image/checksum.c'
	'zlib.h'          ''
	'png.h'           'src/image/decode_png.c'
	'vips/*'          'src/image/decode_vips.c'
	'jansson.h'       'src/image/* src/view/* src/stage/* src/ns/* src/cmd/*'
)
# May be included by one file at most, wherever that is.
single=(linux/landlock.h)

complain() { printf '%s\n' "$*"; bad=1; }

# matches NAME PATTERN...
matches()
{
	local name=$1 p
	shift
	for p; do
		# shellcheck disable=SC2254
		case $name in $p) return 0 ;; esac
	done
	return 1
}

check_include() # FILE LINE LAYER HEADER
{
	local file=$1 line=$2 layer=$3 header=$4 name i users

	case $header in
	h5fs/*.h)
		name=${header#h5fs/} name=${name%.h}
		read -ra users <<<"${allowed[$layer]}"
		[ "${users[0]}" = '*' ] || matches "$name" "${users[@]}" ||
			complain "$file:$line: $layer may not include $header"
		return ;;
	*_int.h)
		[ "${header##*/}" = "$header" ] && [ -e "src/$layer/$header" ] ||
			complain "$file:$line: $header is no header of src/$layer/"
		return ;;
	esac
	for ((i = 0; i < ${#foreign[@]}; i += 2)); do
		matches "$header" "${foreign[i]}" || continue
		read -ra users <<<"${foreign[i + 1]}"
		matches "$file" "${users[@]}" ||
			complain "$file:$line: <$header> belongs in ${foreign[i + 1]:-no file}"
		return
	done
}

while IFS= read -r file; do
	case $file in
	include/h5fs/*) layer=${file##*/} layer=${layer%.h}
		layer=${layer_of[$layer]:-$layer} ;;
	src/*) layer=${file#src/} layer=${layer%%/*} ;;
	esac
	if [ -z "${allowed[$layer]:-}" ]; then
		complain "$file: \"$layer\" is no layer"
		continue
	fi
	head -n 3 "$file" | grep -q 'SPDX-License-Identifier: MIT' ||
		complain "$file:1: no SPDX-License-Identifier: MIT"
	while IFS=: read -r line text; do
		header=${text#*[<\"]} header=${header%%[>\"]*}
		check_include "$file" "$line" "$layer" "$header"
	done < <(grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]' "$file")
done < <(find include/h5fs src -name '*.[ch]' | sort)

for header in "${single[@]}"; do
	found=$(grep -rlE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]$header" \
		include src --include='*.[ch]')
	[ "$(grep -c . <<<"$found")" -le 1 ] ||
		complain "<$header> is in more than one file: ${found//$'\n'/ }"
done

while IFS= read -r file; do
	head -n 3 "$file" | grep -q 'SPDX-License-Identifier: MIT' ||
		complain "$file:1: no SPDX-License-Identifier: MIT"
done < <(find tests scripts .ci -type f \( -name '*.[ch]' -o -name '*.py' \
	-o -name '*.sh' -o -name '*.bash' -o -name '*.bats' -o -name CMakeLists.txt \
	-o -path '.ci/*' \) 2>/dev/null | sort)
exit $bad
