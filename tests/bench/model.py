# SPDX-License-Identifier: MIT
"""What a bench is made of: scales, groups of steps, ratios, and what was measured."""
import importlib.util
import shutil
import statistics
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Scale:
    """How much of everything."""
    name: str
    rounds: int
    samples: int        # of 64x64x3: the pictures that all peers have
    large: int          # of 256x256x3
    listed: int         # of 28x28: a directory with very many files
    grouped: int        # datasets in one group
    array: int          # bytes of one .npy
    decoded: int        # samples that Pillow decodes
    reads: int          # random reads while memory is watched
    appended: int       # PNGs that are copied in
    arrays: int         # (20,20,5) arrays that are copied in; 0: none
    seconds: float      # that h5py may take for random samples
    beside: bool        # also the figures that have no wanted ratio
    drop: bool          # caches, where a row is cold
    judged: bool        # are ratios

# A test that the bench and the answers are right: every step once, very small.
CHECK = Scale("check", 1, 256, 128, 2000, 500, 8 << 20, 100, 2000, 130, 4000,
              0.2, beside=True, drop=False, judged=False)
QUICK = Scale("quick", 3, 4000, 512, 100000, 10000, 256 << 20, 1500, 50000,
              2000, 0, 0.7, beside=False, drop=False, judged=True)
FULL = Scale("full", 3, 20000, 1024, 1000000, 1000000, 1 << 30, 5000, 1000000,
             20000, 200000, 2.0, beside=True, drop=True, judged=True)
SCALES = {s.name: s for s in (FULL, QUICK, CHECK)}


@dataclass(frozen=True)
class Ratio:
    """of / against, two names of figures. Of several that it may be against, the
    best rate counts."""
    row: str
    work: str
    of: str
    against: tuple
    wanted: str = ""    # ">= 2", "<= 1.2", "> 1"; empty: told only

    def reached(self, value):
        if not self.wanted:
            return True
        op, limit = self.wanted.split()
        return {">=": value >= float(limit), "<=": value <= float(limit),
                ">": value > float(limit)}[op]

    def score(self, value):
        """How far from what is wanted; 1 is just reached, more is better."""
        op, limit = self.wanted.split()
        return float(limit) / value if op == "<=" else value / float(limit)


@dataclass(frozen=True)
class Step:
    """run(bench) gives figures by name."""
    run: object
    rounds: dict = None         # by scale, of what is dear: in the first ones only
    beside: bool = False        # has figures that are only told
    needs: str = ""             # a program or a Python module

    def is_due(self, scale, number):
        most = (self.rounds or {}).get(scale.name, scale.rounds)
        return (self.possible() and number < most and
                (scale.beside or not self.beside))

    def possible(self):
        return not self.needs or bool(shutil.which(self.needs) or
                                      importlib.util.find_spec(self.needs))


@dataclass(frozen=True)
class Group:
    """Steps that are compared with each other, so run next to each other."""
    name: str
    steps: tuple
    ratios: tuple


@dataclass
class Result:
    ratio: Ratio
    values: list
    of: float = 0.0             # medians of the figures themselves
    against: float = 0.0
    median: float = field(init=False)

    def __post_init__(self):
        self.median = statistics.median(self.values)

    @property
    def verdict(self):
        """Missed only if no round reached what is wanted."""
        if not self.ratio.wanted:
            return ""
        if self.ratio.reached(self.median):
            return "reached"
        if any(self.ratio.reached(v) for v in self.values):
            return "within the spread"
        return "missed"


class Figures:
    """By group and name, one number a round."""

    def __init__(self):
        self.by_round = {}

    def add(self, group, number, figures):
        for name, value in figures.items():
            self.by_round.setdefault((group, name), {})[number] = value

    def result(self, group, ratio):
        """None where one side was not measured."""
        of = self.by_round.get((group, ratio.of), {})
        against = {}
        for name in ratio.against:
            for k, value in self.by_round.get((group, name), {}).items():
                against[k] = max(value, against.get(k, value))
        both = sorted(set(of) & set(against))
        if not both:
            return None
        return Result(ratio, [of[k] / against[k] for k in both],
                      statistics.median(of[k] for k in both),
                      statistics.median(against[k] for k in both))
