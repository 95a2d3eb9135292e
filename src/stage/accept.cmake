# SPDX-License-Identifier: MIT
h5fs_unit_test(draft h5fs_stage)
h5fs_unit_test(npy h5fs_stage)
h5fs_unit_test(cast h5fs_stage)
h5fs_unit_test(value h5fs_stage)
h5fs_unit_test(accept h5fs_stage)
