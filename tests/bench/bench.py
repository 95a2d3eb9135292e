#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""bench.py - what a mount costs beside everything that one would use instead. See
scripts/bench, which builds what this needs.

All that is compared is measured in the same run, one after another in every round,
in another order each time. A ratio is taken within a round; the table has the median,
the least and the most of the rounds. A wanted ratio is missed if no round reaches it.
No absolute time is judged. Every step also checks answers: what is wrong is no figure.

What is first asked of a mount is asked of a fresh one: the kernel knows nothing of it,
while what it reads from (the .h5 file, the image, the folder) is in memory, for all
alike. Pictures are 64x64x3 unless a row says otherwise."""
import argparse
import os
import subprocess
import sys
import time

import adding
import chunks
import files
import listing
import report
from data import Data
from model import SCALES, Figures
from places import Bench, Wrong

GROUPS = listing.GROUPS + files.GROUPS + chunks.GROUPS + adding.GROUPS


def parse():
    p = argparse.ArgumentParser(prog="scripts/bench")
    p.add_argument("--quick", dest="scale", action="store_const",
                   const="quick", default="full", help="at most two minutes")
    p.add_argument("--check", dest="scale", action="store_const",
                   const="check", help="every step once, very small: "
                   "are all answers right? No ratio is judged")
    p.add_argument("--only", metavar="ROW[,ROW...]",
                   help="1 to 13, A1 to A4")
    p.add_argument("--rounds", type=int, help="instead of %s" % ", ".join(
        f"{s.rounds} ({s.name})" for s in SCALES.values()))
    p.add_argument("--out", default="build/bench",
                   help="where data and results are kept (%(default)s)")
    p.add_argument("--h5fs", default="build/h5fs")
    p.add_argument("--tools", required=True, help=argparse.SUPPRESS)
    return p.parse_args()


def chosen(only):
    """Groups, and which of their ratios are told."""
    rows = {r.row for g in GROUPS for r in g.ratios}
    want = set(only.split(",")) if only else rows
    if want - rows:
        print(f"no row {', '.join(sorted(want - rows))}; there are "
              f"{', '.join(sorted(rows))}", file=sys.stderr)
        sys.exit(2)
    return want, [g for g in GROUPS if want & {r.row for r in g.ratios}]


def in_turn(steps, number):
    """Another one begins in each round."""
    k = number % len(steps)
    return steps[k:] + steps[:k]


def run_round(b, groups, figures, failed):
    for group in groups:
        steps = [s for s in group.steps if s.is_due(b.scale, b.round)]
        if not steps:
            continue
        start = time.monotonic()
        for step in in_turn(steps, b.round):
            try:
                figures.add(group.name, b.round, step.run(b))
            except (Wrong, OSError, subprocess.SubprocessError) as e:
                failed.append(f"{group.name}: {e}")
                print(failed[-1], file=sys.stderr, flush=True)
        print(f"  {group.name}: {time.monotonic() - start:.1f} s", flush=True)


def missing(groups):
    """Programs and modules without which some figures are not there."""
    return sorted({s.needs for g in groups for s in g.steps
                   if not s.possible()})


def results_of(figures, groups, want):
    found = [figures.result(g.name, r) for g in groups for r in g.ratios
             if r.row in want]
    return sorted((r for r in found if r),
                  key=lambda r: (r.ratio.row[0] == "A",
                                 int(r.ratio.row.strip("A"))))


def main():
    o = parse()
    scale = SCALES[o.scale]
    want, groups = chosen(o.only)
    out = os.path.realpath(o.out)
    figures, failed, results = Figures(), [], []
    data = Data(f"{out}/{scale.name}", scale)
    b = Bench(scale, data, os.path.realpath(o.tools), os.path.realpath(o.h5fs))
    if missing(groups):
        print("not here, so not measured:", *missing(groups), file=sys.stderr)
    if os.geteuid() != 0 and scale.drop:
        print("not root: caches are not dropped", file=sys.stderr)
    rounds = o.rounds or scale.rounds
    try:
        for b.round in range(rounds):
            print(f"round {b.round + 1} of {rounds}", flush=True)
            run_round(b, groups, figures, failed)
            results = results_of(figures, groups, want)
            report.write_all(out, results, f"`scripts/bench`, {scale.name}, "
                             f"rounds: {b.round + 1}")
    finally:
        b.close()
    if not scale.judged:
        print(f"{len(failed)} steps were not answered right")
        return 1 if failed else 0
    with open(out + "/bench.md") as f:
        print("\n" + f.read())
    print(f"{out}/bench.csv, bench.md, bench.svg")
    return 1 if failed or any(r.verdict == "missed" for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
