#!/usr/bin/env python3
"""Runs weft's benchmarks and the same ones of other runtimes side by side.

Every repetition is a fresh process; the contenders take turns (repetition 1 of
each, repetition 2 of each ...), so that a slow phase of the machine hits all
of them. Prints the best value of each and the ratio weft / best peer: below 1
weft is cheaper. A contender that is missing or fails is reported and left out.
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import compare_report as report

ROOT = pathlib.Path(__file__).resolve().parent.parent
PEERS = ROOT / "build" / "peers"
SLOW_SECONDS, SLOW_REPS = 5, 3  # a repetition this long is repeated less
PAUSE = 0.05  # seconds between repetitions

K16 = {"BF_STACK_SIZE": "16384"}
TUNED = {**K16, "MALLOC_TRIM_THRESHOLD_": "8000000000",
         "MALLOC_TOP_PAD_": "67108864", "MALLOC_ARENA_MAX": "1"}


def program(name, *more):
    return lambda bench, workers, n: [
        str(PEERS / f"{name}_bench"), bench, str(workers), str(n), *more]


def erlang(bench, workers, n):
    return ["erl", "+S", f"{workers}:{workers}", "+P", "4000000", "-noshell",
            "-noinput", "-pa", str(PEERS), "-run", "bench", "main", bench,
            str(workers), str(n)]


# Ways to run a peer: family, command, environment, the workers it can have.
ANY, ONE, MANY = range(1, 1025), range(1, 2), range(2, 1025)
VARIANTS = {
    "go": ("go", program("go"), {}, ANY),
    "tokio": ("tokio", program("tokio"), {}, ANY),
    "tokio-ct": ("tokio", program("tokio", "ct"), {}, ONE),
    "boost": ("boost", program("boost"), {}, ANY),
    "boost-susp": ("boost", program("boost"), {"BF_SUSPEND": "1"}, MANY),
    "boost-16k": ("boost", program("boost"), K16, ANY),
    "boost-pooled": ("boost", program("boost"), {"BF_STACK": "pooled"}, ONE),
    "boost-tuned": ("boost", program("boost"), TUNED, ANY),
    "tbb": ("tbb", program("tbb"), {}, ANY),
    "pthread": ("pthread", program("pthread"), {}, ANY),
    "erlang": ("erlang", erlang, {}, ANY),
}

# Who is known to run which benchmark; name@1 only with one worker. Kernel
# threads are left out of mem: they would use up the machine's process ids.
MOST = "go tokio tokio-ct boost boost-susp pthread"
KNOWN = {
    "switch": "boost@1 pthread@1",
    "yield": "go@1 tokio@1 tokio-ct boost@1 pthread@1 erlang@1",
    "spawn_join": MOST + " boost-pooled boost-tuned tbb erlang",
    "fib30": "go tokio tokio-ct boost-16k tbb erlang",
    "fib30_cut12": MOST + " tbb erlang",
    "mem": "go tokio tokio-ct boost-16k@1 erlang",
    "timers": MOST + " erlang",
    "pingpong_unbuf": MOST + " erlang",
    "chan_buf_spsc": MOST,
    "chan_mpmc": MOST,
    "skynet": "go tokio tokio-ct boost-16k erlang",
    "skynet_join": "tbb",
    "mutex": MOST,
    "mutex_handoff": "go tokio tokio-ct boost boost-susp",
    "mutex_uncontended": "go@1 tokio@1 tokio-ct boost@1 pthread@1",
    "select": "go tokio tokio-ct",
    "ring": MOST + " erlang",
    "sieve": "go tokio tokio-ct boost boost-susp erlang",
}
NEEDS_GB = {("mem", "boost-16k"): 12}


def fail(text):
    print(f"compare.py: {text}", file=sys.stderr)
    sys.exit(2)


def contenders(bench, workers, wanted):
    """The peer variants that run this benchmark with so many workers."""
    for entry in KNOWN[bench].split():
        name, _, only = entry.partition("@")
        family, _, _, possible = VARIANTS[name]
        if (workers in possible and only in ("", str(workers)) and
                (not wanted or name in wanted or family in wanted)):
            yield name


def cpu_of_machine():
    """Busy and stolen milliseconds of all CPUs so far."""
    with open("/proc/stat", encoding="ascii") as stat:
        ticks = [int(word) for word in stat.readline().split()[1:]]
    unit = 1000 / os.sysconf("SC_CLK_TCK")
    return (sum(ticks[:3]) + ticks[5] + ticks[6]) * unit, ticks[7] * unit


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1000


def run(command, env, timeout):
    """Exit status (None: too slow), output, errors."""
    try:
        process = subprocess.Popen(
            command, env={**os.environ, **env}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True)
    except OSError as error:
        return 127, "", str(error)
    try:
        out, errors = process.communicate(timeout=timeout)
        return process.returncode, out, errors
    except BaseException as reason:
        os.killpg(process.pid, signal.SIGKILL)
        out, errors = process.communicate()
        if isinstance(reason, subprocess.TimeoutExpired):
            return None, out, f"{errors}\nno end after {timeout} s"
        raise


def calibrate():
    """Milliseconds of a fixed sequential loop: how fast is the machine now?"""
    command = [str(PEERS / "pthread_bench"), "fib30_seq", "1", "33"]
    code, out, _ = run(command, {}, 60)
    try:
        return json.loads(out)["value"] if code == 0 else None
    except (ValueError, KeyError):
        return None


def memory_missing(bench, name):
    """Why this would not fit into memory, or nothing."""
    need = NEEDS_GB.get((bench, name), 0)
    if not need:
        return ""
    with open("/proc/meminfo", encoding="ascii") as info:
        lines = dict(line.split(":") for line in info)
    free = int(lines["MemAvailable"].split()[0]) / 2**20
    return f"wants {need} GB, {free:.1f} are free" if free < need else ""


def repeat_once(name, bench, workers, options):
    """One repetition as a raw record; failed: true if it did not work."""
    record = {"peer": name, "bench": bench, "workers": workers}
    if lacks := memory_missing(bench, name):
        return {**record, "failed": True, "error": lacks}
    if name == "weft":
        command, env = [options.weft, bench, "--workers", str(workers)], {}
        command += ["--n", str(options.n)] if options.n else []
    else:
        _, make, env, _ = VARIANTS[name]
        command = make(bench, workers, options.n)
    calib = calibrate()
    time.sleep(PAUSE)
    busy, stolen = cpu_of_machine()
    own, start = cpu_of_children(), time.monotonic()
    code, out, errors = run(command, env, options.timeout)
    wall = time.monotonic() - start
    own = cpu_of_children() - own
    busy, stolen = (now - then for now, then in
                    zip(cpu_of_machine(), (busy, stolen)))
    lines = [line for line in out.splitlines() if line.startswith("{")]
    try:
        found = json.loads(lines[-1])
        record.update(found if code == 0 else {}, peer=name)
        good = code == 0 and isinstance(found["value"], (int, float))
    except (IndexError, KeyError, ValueError):
        good = False
    if not good:
        last = errors.strip()[-300:] or f"no result, exit status {code}"
        record.update(failed=True, code=code, error=last)
    record.update(
        wall_s=round(wall, 3), calib_ms=calib, steal_ms=round(stolen),
        other_cpu_ms=round(max(0, busy - own)), at=round(time.time()))
    return record


class Progress:
    """A line that is overwritten, on a terminal; else nothing."""

    def __init__(self):
        self.shown = sys.stderr.isatty()

    def say(self, text):
        if self.shown:
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    def note(self, text):
        self.say("")
        print(text, file=sys.stderr, flush=True)


def run_group(bench, workers, names, options, raw, progress):
    """All repetitions of one benchmark; yields the records."""
    left = dict.fromkeys(names, options.reps)
    for rep in range(1, options.reps + 1):
        turn = [name for name in names if left[name] >= rep]
        shift = rep % len(turn) if turn else 0  # nobody is always first
        for name in turn[shift:] + turn[:shift]:
            progress.say(f"{bench}, {workers} worker(s), repetition "
                         f"{rep}/{options.reps}: {name}")
            record = {**repeat_once(name, bench, workers, options), "rep": rep}
            raw.write(json.dumps(record) + "\n")
            raw.flush()
            if record.get("failed"):
                left[name] = 0
                progress.note(f"FAIL {name} {bench} w{workers}: "
                              f"{record['error']}")
            elif record["wall_s"] > SLOW_SECONDS:
                left[name] = min(left[name], SLOW_REPS)
            yield record
    if not progress.shown:
        progress.note(f"done {bench}, {workers} worker(s)")


def plan(options):
    """What to run: (benchmark, workers, contenders)."""
    if not os.access(options.weft, os.X_OK):
        fail(f"no program {options.weft}; build it first: "
             "cmake --preset release && cmake --build --preset release")
    code, out, errors = run([options.weft, "--list"], {}, 30)
    if code != 0:
        fail(f"{options.weft} --list failed: {errors.strip()}")
    own = [line.split()[0] for line in out.splitlines() if line.strip()]
    for name in options.names:
        if name not in own:
            fail(f"weft has no benchmark '{name}'; it has {', '.join(own)}")
        if name not in KNOWN:
            fail(f"no peer knows '{name}': run it with weft-bench")
    for bench in options.names or [name for name in KNOWN if name in own]:
        for workers in options.workers:
            if names := list(contenders(bench, workers, options.peer)):
                yield bench, workers, ["weft", *names]


def build(todo):
    families = {VARIANTS[name][0] for _, _, names in todo
                for name in names if name != "weft"}
    command = [str(ROOT / "bench" / "peers" / "build.sh"), "pthread",
               *sorted(families - {"pthread"})]
    if subprocess.run(command, check=False).returncode != 0:
        print("compare.py: some peers could not be built", file=sys.stderr)


def measure(options):
    todo = list(plan(options))
    if not todo:
        fail("nothing to compare: no such peer runs this benchmark with so "
             "many workers")
    if options.build:
        build(todo)
    options.raw.parent.mkdir(parents=True, exist_ok=True)
    records, progress = [], Progress()
    with open(options.raw, "a", encoding="utf-8") as raw:
        try:
            for bench, workers, names in todo:
                records.extend(run_group(bench, workers, names, options, raw,
                                         progress))
        except KeyboardInterrupt:
            progress.note("interrupted: what follows is incomplete")
    progress.say("")
    return records


def parse():
    def at_least_one(text):
        if not re.fullmatch(r"0*[1-9][0-9]{0,8}", text):
            raise argparse.ArgumentTypeError(
                f"'{text}' is not a number of at least 1")
        return int(text)

    def number_list(text):
        return [at_least_one(word) for word in text.split(",")]

    def peer_list(text):
        families = {family for family, *_ in VARIANTS.values()}
        words = text.split(",")
        for word in words:
            if word not in VARIANTS and word not in families:
                raise argparse.ArgumentTypeError(
                    f"no peer '{word}'; there are {', '.join(VARIANTS)}")
        return words

    stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME",
        help="benchmarks (default: all that weft and a peer have)")
    add("--workers", type=number_list, default=[1, 2], metavar="N,N",
        help="numbers of workers (default: 1,2)")
    add("--reps", type=at_least_one, default=5, metavar="R",
        help="repetitions, at most 3 where one takes 5 s (default: 5)")
    add("--peer", type=peer_list, default=[], metavar="P,P",
        help="only these peers: " + ", ".join(VARIANTS))
    add("--n", type=at_least_one, default=0, metavar="N",
        help="another amount of work, for trying things out")
    add("--timeout", type=at_least_one, default=120, metavar="S",
        help="seconds after which a repetition has failed (default: 120)")
    add("--weft", default=str(ROOT / "build/release/bench/weft-bench"),
        metavar="PATH", help="weft's program (default: that of build/release)")
    add("--raw", type=pathlib.Path, metavar="FILE",
        default=ROOT / "build" / "bench" / f"compare-{stamp}.jsonl",
        help="where every repetition is recorded (default: in build/bench)")
    add("--from", dest="source", type=pathlib.Path, metavar="FILE",
        help="run nothing: report what a --raw file holds")
    add("--markdown", type=pathlib.Path, metavar="FILE",
        help="write the results; in place between <!-- results --> marks")
    add("--plot", type=pathlib.Path, metavar="FILE.svg",
        help="draw the ratios")
    add("--no-build", dest="build", action="store_false",
        help="do not build the peers")
    return parser.parse_args()


def main():
    options = parse()
    if options.source:
        try:
            text = options.source.read_text(encoding="utf-8")
            records = [json.loads(line) for line in text.splitlines()]
        except (OSError, ValueError) as error:
            fail(f"{options.source}: {error}")
    else:
        records = measure(options)
    families = {name: family for name, (family, *_) in VARIANTS.items()}
    rows = report.rows(records, families)
    print(report.text(rows, records))
    if not options.source:
        print(f"raw: {os.path.relpath(options.raw)}")
    if options.markdown:
        report.write_markdown(options.markdown, rows, records)
    if options.plot:
        options.plot.write_text(report.svg(rows), encoding="utf-8")
    weft_failed = any(record.get("failed") and record["peer"] == "weft"
                      for record in records)
    return 1 if weft_failed else 0


if __name__ == "__main__":
    sys.exit(main())
