#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Medians of what run measured, and each as a multiple of the plain folder's.

usage: report.py RESULTS.tsv        (lines: who TAB what TAB unit TAB number)

A ratio over 1 is better than the folder, whatever the unit.
"""
import statistics
import sys
from collections import OrderedDict

BASE = 'folder'
data, units = OrderedDict(), {}
for line in open(sys.argv[1]):
    who, what, unit, number = line.rstrip('\n').split('\t')
    data.setdefault(what, OrderedDict()).setdefault(who, []).append(float(number))
    units[what] = unit
for what, rows in data.items():
    unit = units[what]
    print('%s (%s)' % (what, unit))
    base = statistics.median(rows[BASE]) if BASE in rows else None
    for who, values in rows.items():
        m = statistics.median(values)
        ratio = ''
        if base and m and who != BASE:
            ratio = '%8.2f x' % (base / m if unit == 's' else m / base)
        print('  %-22s %12.4g   [%.4g .. %.4g] of %d %s' % (who, m, min(values), max(values), len(values), ratio))
