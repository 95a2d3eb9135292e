# SPDX-License-Identifier: MIT
# packages.sh - the Debian packages that h5fs needs, in one place. Sourced.
# shellcheck shell=bash disable=SC2034

packages_build=(
	gcc libc6-dev cmake ninja-build pkgconf
	libfuse3-dev libhdf5-dev libdeflate-dev libjansson-dev
	libpng-dev libvips-dev
)
packages_run=(fuse3)
packages_demo=(python3-h5py python3-numpy python3-pil attr file)
packages_test=(
	"${packages_demo[@]}"
	bats imagemagick rsync procps strace zstd hdf5-tools pngcheck netpbm
	python3-opencv python3-torch python3-torchvision
)
packages_bench=(
	python3-h5py python3-numpy python3-pil python3-torch python3-torchvision
	squashfs-tools squashfuse fuse-zip zip bindfs hdf5-tools util-linux
)
packages_screenshot=(
	xvfb pcmanfm adwaita-icon-theme fonts-dejavu-core python3-pil
)

# packages_install NAME... - installs those that are missing, with sudo where
# we are not root.
packages_install()
{
	local name missing=() sudo=()

	for name; do
		dpkg-query -W -f '${Status}' "$name" 2>/dev/null |
			grep -q '^install ok installed$' || missing+=("$name")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	if [ "$(id -u)" -ne 0 ]; then
		command -v sudo >/dev/null || {
			echo "as root: apt-get install ${missing[*]}" >&2
			return 1
		}
		sudo=(sudo)
	fi
	echo "installing ${missing[*]}"
	"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive sh -c '
		log=$(mktemp)
		trap "rm -f $log" EXIT
		apt-get -q update >"$log" 2>&1 &&
		apt-get -q install -y --no-install-recommends "$@" >>"$log" 2>&1 ||
		{ tail -n 20 "$log" >&2; exit 1; }' sh "${missing[@]}"
}
