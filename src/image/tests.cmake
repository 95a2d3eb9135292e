# SPDX-License-Identifier: MIT
h5fs_unit_test(checksum h5fs_image)
h5fs_unit_test(png h5fs_image)
h5fs_unit_test(png_split h5fs_image)
h5fs_unit_test(raster h5fs_image)
h5fs_unit_test(fit h5fs_image)
h5fs_unit_test(raster_store h5fs_image)
h5fs_unit_test(picture h5fs_image)
