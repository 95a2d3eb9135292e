# SPDX-License-Identifier: MIT
"""What was measured, as CSV, as Markdown, and as a plot."""
import csv
import math
from html import escape

MARKS = {"reached": "yes", "within the spread": "within the spread",
         "missed": "**no**", "": ""}


def number(x):
    """Three figures."""
    if x == 0 or not math.isfinite(x):
        return f"{x:g}"
    places = max(0, 2 - math.floor(math.log10(abs(x))))
    return f"{x:.{places}f}"


def write_csv(path, results):
    with open(path, "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(("row", "work", "wanted", "median", "min", "max", "rounds",
                    "verdict", "of", "against"))
        for r in results:
            w.writerow((r.ratio.row, r.ratio.work, r.ratio.wanted,
                        f"{r.median:.4g}", f"{min(r.values):.4g}",
                        f"{max(r.values):.4g}", len(r.values), r.verdict,
                        f"{r.of:.6g}", f"{r.against:.6g}"))


def markdown(results, title):
    lines = [title, "", "| # | work / against | ratio | min … max | wanted | "
             "reached |", "|---|---|---|---|---|---|"]
    for r in results:
        lines.append(
            f"| {r.ratio.row} | {r.ratio.work} | {number(r.median)} | "
            f"{number(min(r.values))} … {number(max(r.values))} | "
            f"{r.ratio.wanted} | {MARKS[r.verdict]} |")
    return "\n".join(lines) + "\n"


# ---- the plot: how far each ratio is from what is wanted ----

WIDTH, LEFT, RIGHT, LINE, TOP = 1000, 430, 190, 22, 56
LOW, HIGH = 1 / 8, 64           # of the axis; what is beyond stands at its end
COLOURS = {"reached": "#1a7f5a", "within the spread": "#b7791f",
           "missed": "#c53030"}


def across(score):
    share = math.log(min(max(score, LOW), HIGH) / LOW) / math.log(HIGH / LOW)
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def axis(bottom):
    x = LOW
    while x <= HIGH:
        at = across(x)
        text = f"{x:g}" if x >= 1 else f"1/{1 / x:g}"
        colour, width = ("#222", 1.5) if x == 1 else ("#ddd", 1)
        yield (f'<line x1="{at:.1f}" y1="{TOP - 6}" x2="{at:.1f}" '
               f'y2="{bottom}" stroke="{colour}" stroke-width="{width}"/>')
        yield (f'<text x="{at:.1f}" y="{TOP - 12}" text-anchor="middle" '
               f'fill="#555">{text}</text>')
        x *= 2


def mark(r, y):
    colour = COLOURS[r.verdict]
    ends = sorted(across(r.ratio.score(v)) for v in r.values)
    at = across(r.ratio.score(r.median))
    yield (f'<text x="8" y="{y + 4}">{r.ratio.row}</text>'
           f'<text x="40" y="{y + 4}">{escape(r.ratio.work)}</text>')
    yield (f'<line x1="{ends[0]:.1f}" y1="{y}" x2="{ends[-1]:.1f}" y2="{y}" '
           f'stroke="{colour}" stroke-width="3" stroke-linecap="round"/>')
    yield f'<circle cx="{at:.1f}" cy="{y}" r="5" fill="{colour}"/>'
    yield (f'<text x="{WIDTH - RIGHT + 16}" y="{y + 4}" fill="{colour}">'
           f'{number(r.median)} × (wanted {escape(r.ratio.wanted)})</text>')


def write_svg(path, results, title):
    shown = [r for r in results if r.ratio.wanted]
    bottom = TOP + LINE * len(shown)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
             f'height="{bottom + 16}" viewBox="0 0 {WIDTH} {bottom + 16}" '
             'font-family="sans-serif" font-size="12">',
             f'<rect width="{WIDTH}" height="{bottom + 16}" fill="white"/>',
             f'<text x="8" y="20" font-size="14">{escape(title)}</text>',
             *axis(bottom)]
    for k, r in enumerate(shown):
        parts += mark(r, TOP + LINE * k + LINE // 2)
    with open(path, "w") as f:
        f.write("\n".join(parts) + "\n</svg>\n")


def write_all(top, results, title):
    write_csv(top + "/bench.csv", results)
    with open(top + "/bench.md", "w") as f:
        f.write(markdown(results, title))
    write_svg(top + "/bench.svg", results,
              "Ratios as multiples of what is wanted: right of 1 is reached "
              "(median, least, most)")
