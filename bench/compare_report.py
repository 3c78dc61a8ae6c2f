"""What compare.py found, as a table, as Markdown and as a drawing."""
import datetime
import math
import platform
import re
import statistics
import subprocess
from xml.sax.saxutils import escape

FAMILIES = ["go", "tokio", "boost", "tbb", "pthread", "erlang"]
UNITS = {"ns_per_op": "ns/op", "ms": "ms", "bytes_per_fiber": "B/fiber",
         "late_p50_us": "us late", "ops_per_sec": "op/s"}
HIGHER_IS_BETTER = {"ops_per_sec"}
DETAILS = {  # medians worth a table of their own
    "mem": ["page_table_bytes_per_fiber", "total_bytes_per_fiber",
            "create_ms", "wake_all_ms"],
    "timers": ["late_p99_us", "late_max_us", "cpu_ms", "elapsed_ms"],
}
PACKAGES = ["golang-go", "librust-tokio-dev", "libboost-fiber-dev",
            "libtbb-dev", "erlang-base"]
MARKS = ("<!-- results -->", "<!-- /results -->")


class Figure:
    """The repetitions of one contender in one benchmark."""

    def __init__(self, name, records):
        self.name = name
        self.records = [r for r in records if not r.get("failed")]
        self.failed = len(self.records) < len(records)
        self.metric = self.records[0]["metric"] if self.records else ""
        values = [record["value"] for record in self.records]
        self.reps = len(values)
        if values:
            pick = max if self.metric in HIGHER_IS_BETTER else min
            self.best = pick(values)
            self.median = statistics.median(values)
            self.n = self.records[0]["n"]

    def cost(self):
        """Lower is better, whatever the metric."""
        return 1 / self.best if self.metric in HIGHER_IS_BETTER else self.best

    def typical(self, field):
        values = [r[field] for r in self.records if field in r]
        return statistics.median(values) if values else None


class Row:
    """One benchmark with one number of workers."""

    def __init__(self, bench, workers, figures, families):
        self.bench, self.workers, self.figures = bench, workers, figures
        self.weft = figures.get("weft")
        peers = [f for f in figures.values() if f.name != "weft" and f.reps]
        peers.sort(key=Figure.cost)
        self.peers = peers
        # Kernel threads do less where the full count is absurd. A cost per
        # operation can still be compared; a total or a lateness cannot.
        self.equal = [f for f in peers if self.comparable(f)]
        self.best = self.equal[0] if self.equal else None
        self.metric = next((f.metric for f in figures.values() if f.reps), "")
        self.by_family = {}
        for figure in peers:
            self.by_family.setdefault(families.get(figure.name), figure)
        self.failed = {families.get(f.name) for f in figures.values()
                       if f.failed and not f.reps}

    def comparable(self, figure):
        weft = self.weft
        if not weft or not weft.reps:
            return True
        return figure.metric == weft.metric and (
            figure.metric == "ns_per_op" or figure.n == weft.n)

    def ratio(self):
        """weft / best peer; None if either is missing."""
        if not self.best or not self.weft or not self.weft.reps:
            return None
        if self.best.cost() <= 0 or self.weft.cost() <= 0:
            return None
        return self.weft.cost() / self.best.cost()

    def cell(self, family, how):
        """how(figure), FAIL or a dash; * where the count is another one."""
        figure = self.by_family.get(family)
        if figure:
            return how(figure) + ("" if self.comparable(figure) else "*")
        return "FAIL" if family in self.failed else "–"

    def weft_cell(self, how):
        if self.weft and self.weft.reps:
            return how(self.weft)
        return "FAIL" if self.weft else "–"


def rows(records, families):
    groups = {}
    for record in records:
        key = (record["bench"], record["workers"])
        groups.setdefault(key, {}).setdefault(record["peer"], []).append(record)
    return [Row(bench, workers,
                {name: Figure(name, found) for name, found in peers.items()},
                families)
            for (bench, workers), peers in groups.items()]


def number(value):
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def best(figure):
    return number(figure.best)


def best_and_median(figure):
    return f"{number(figure.best)} / {number(figure.median)}"


def ratio_text(row):
    return "–" if row.ratio() is None else f"{row.ratio():.2f}"


def unit(row):
    return UNITS.get(row.metric, row.metric)


def noise(records):
    """How steady the machine was, in a sentence."""
    times = sorted(r["calib_ms"] for r in records if r.get("calib_ms"))
    if not times:
        return ""
    return (f"machine: a fixed loop took {times[0]:.1f} ms at best, "
            f"{statistics.median(times):.1f} at the median, {times[-1]:.1f} "
            "at worst")


def text(all_rows, records):
    """The table for the terminal: best values."""
    head = ["bench", "w", "unit", "weft", "ratio", "best peer", *FAMILIES]
    lines = [head]
    for row in all_rows:
        lines.append([
            row.bench, str(row.workers), unit(row), row.weft_cell(best),
            ratio_text(row), row.best.name if row.best else "–",
            *(row.cell(family, best) for family in FAMILIES)])
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    left = {0, 2, 5}
    shown = ["  ".join(word.ljust(width) if i in left else word.rjust(width)
                       for i, (word, width) in enumerate(zip(line, widths)))
             for line in lines]
    if any("*" in word for line in lines for word in line):
        shown.append("* another count than weft's: not part of the ratio")
    return "\n".join([*shown, noise(records)]).rstrip()


def machine():
    model = platform.processor()
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as info:
        found = re.search(r"^model name\s*:\s*(.+)$", info.read(), re.M)
        model = found[1] if found else model
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as info:
        cpus = info.read().count("processor\t:")
    return f"{cpus} CPUs ({model}), Linux {platform.release()}"


def versions():
    found = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${Version}, ", *PACKAGES],
        capture_output=True, text=True, check=False).stdout
    return found.rstrip(", ")


def markdown_table(head, lines):
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head),
            *("| " + " | ".join(line) + " |" for line in lines)]


def markdown(all_rows, records):
    reps = max((f.reps for row in all_rows for f in row.figures.values()),
               default=0)
    times = [record["at"] for record in records if "at" in record]
    when = datetime.date.fromtimestamp(max(times)) if times else "?"
    out = [f"{when}, {machine()}; {versions()}. Best / median of at most "
           f"{reps} repetitions, interleaved. Ratio: weft's best / the best "
           "peer's best; below 1 weft is cheaper. `*`: another count than "
           "weft's, not part of the ratio.", ""]
    if sentence := noise(records):
        out += [sentence[0].upper() + sentence[1:] + ".", ""]
    out += markdown_table(
        ["bench", "workers", "unit", "weft", "ratio", "best peer", *FAMILIES],
        [[row.bench, str(row.workers), unit(row),
          row.weft_cell(best_and_median), ratio_text(row),
          row.best.name if row.best else "–",
          *(row.cell(family, best_and_median) for family in FAMILIES)]
         for row in all_rows])
    for bench, fields in DETAILS.items():
        lines = []
        for row in all_rows:
            if row.bench != bench:
                continue
            ours = [row.weft] if row.weft and row.weft.reps else []
            for figure in ours + row.peers:
                found = [figure.typical(field) for field in fields]
                lines.append([
                    figure.name, str(row.workers), f"{figure.n:,}",
                    best(figure),
                    *("–" if v is None else number(v) for v in found)])
        if lines:
            out += ["", f"`{bench}` in detail (medians, but for the value):",
                    ""]
            out += markdown_table(
                ["", "workers", "n", "value",
                 *(field.replace("_", " ") for field in fields)], lines)
    return "\n".join(out)


def write_markdown(path, all_rows, records):
    """Between the marks if the file has them; else as the whole file."""
    made = markdown(all_rows, records) + "\n"
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    start, end = old.find(MARKS[0]), old.find(MARKS[1])
    if 0 <= start < end:
        made = f"{old[:start]}{MARKS[0]}\n{made}{old[end:]}"
    elif old and not old.lstrip().startswith(MARKS[0]):
        raise SystemExit(f"compare.py: {path} has no {MARKS[0]} marks; it is "
                         "left as it was")
    else:
        made = f"{MARKS[0]}\n{made}{MARKS[1]}\n"
    path.write_text(made, encoding="utf-8")


def svg(all_rows):
    """Bars of the ratios on a logarithmic scale, with 1 in the middle."""
    shown = [row for row in all_rows if row.ratio() is not None]
    label, half, line, top = 170, 230, 22, 54
    width, height = label + 2 * half + 130, top + line * len(shown) + 16
    reach = max([2.0] + [max(r.ratio(), 1 / r.ratio()) for r in shown])
    reach = 2 ** math.ceil(math.log2(reach))
    middle = label + half

    def x(ratio):
        return middle + half * math.log(ratio) / math.log(reach)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
           f'height="{height}" font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>',
           f'<text x="{middle}" y="18" text-anchor="middle" font-size="14">'
           'weft / best peer: left of 1 weft is cheaper</text>']
    ticks, tick = [], 1 / reach
    while tick <= reach:
        ticks.append(tick)
        tick *= 2 if reach <= 16 else 4
    for tick in ticks:
        out.append(
            f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{top - 8}" '
            f'y2="{height - 12}" stroke="{"#333" if tick == 1 else "#ddd"}"/>'
            f'<text x="{x(tick):.1f}" y="{top - 12}" text-anchor="middle" '
            f'fill="#666">{tick:g}</text>')
    for index, row in enumerate(shown):
        y, ratio = top + line * index, row.ratio()
        start, end = sorted((middle, x(ratio)))
        color = "#2e8b57" if ratio <= 1 else "#d2691e"
        out += [
            f'<text x="{label - 8}" y="{y + 13}" text-anchor="end">'
            f'{escape(row.bench)}, w{row.workers}</text>',
            f'<rect x="{start:.1f}" y="{y + 2}" width="{end - start:.1f}" '
            f'height="{line - 7}" fill="{color}"/>',
            f'<text x="{max(end, middle) + 6:.1f}" y="{y + 13}">{ratio:.2f} '
            f'({escape(row.best.name)})</text>']
    return "\n".join([*out, "</svg>", ""])
