"""How late the native loop wakes, beside an empty loop and cyclictest: python -m cutjoint.benchmarks.realtime

At each rate, without and with work on all cores, the loops of `stewart` and `hexapod`, a loop that only
sleeps and wakes, and Debian's `cyclictest` (package rt-tests) take turns in short slices until each has run
for `--seconds`, so that whatever the machine does meets all of them. They run one at a time, at the same
SCHED_FIFO priority on the same processor. The loops step, hear and send packets every period. Then the ROS
node runs at 1 kHz, for its share of a core. Numbers mean something only on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..realtime.build import build_realtime

MECHANISMS = {"stewart": ("motor1.speed", "0.01"), "hexapod": ("leg1.speed", "0.001")}  # in slow motion
RATES = (1000, 4000, 10000)
SLICE = 10.0  # seconds
PRIORITY = 80
QUANTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}
ALLOWED_US, ALLOWED_SHARE = 20.0, 1 / 3  # lateness above the empty loop's, and CPU of the node's
EMPTY, CYCLICTEST = "empty loop", "cyclictest"


class Late:
    """Lateness in microseconds, from slices."""

    def __init__(self) -> None:
        self.counts: Counter[float] = Counter()
        self.longest = self.cpu = self.seconds = 0.0
        self.overruns = self.tries = 0

    def quantile(self, part: float) -> float:
        total, seen = sum(self.counts.values()), 0
        for late in sorted(self.counts):
            seen += self.counts[late]
            if seen >= part * total:
                return min(late, self.longest)
        return self.longest

    def row(self) -> dict[str, float]:
        share = 100 * self.cpu / self.seconds if self.seconds else float("nan")
        found = {name: self.quantile(part) for name, part in QUANTILES.items()}
        return found | {"max": self.longest, "cpu": share, "overruns": self.overruns, "tries": self.tries}


@contextmanager
def load(wanted: bool) -> Iterator[None]:
    """Two busy processes for each processor: one computes, one calls the system."""
    commands = (["sh", "-c", "while :; do :; done"], ["sh", "-c", "exec yes > /dev/null"])
    busy = [subprocess.Popen(command) for _ in range(os.cpu_count() or 1) for command in commands if wanted]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def loop_slice(program: Path, options: list[str], rate: int, seconds: float, cpu: int, to: Late) -> None:
    """One slice of a loop, with a device that has spoken once and is sent states from then on."""
    base = ["--rate", str(rate), "--seconds", f"{seconds:g}", "--priority", str(PRIORITY), "--cpu", str(cpu)]
    command = [str(program), *base, "--json", "--udp", "127.0.0.1:0", "--timeout", "0", *options]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert run.stderr is not None
    port = next((int(found[1]) for line in run.stderr if (found := re.search(r":(\d+)", line))), 0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device:
        inputs = {"stewart": 3, "hexapod": 6}[program.name]
        head = b"CJ\x01\x02" + inputs.to_bytes(4, "little") + (1).to_bytes(4, "little") + bytes(20)
        device.sendto(head + bytes(8 * inputs), ("127.0.0.1", port))
        out, said = run.communicate(timeout=seconds + 60)
    if run.returncode:
        raise RuntimeError(f"{program}: {said}")
    report = json.loads(out)
    for late, count in report["lateness_bins"]:
        to.counts[late] += count
    to.longest = max(to.longest, report["lateness_us"]["max"])
    to.cpu += report["cpu_percent"] / 100 * report["seconds"]
    to.seconds += report["seconds"]
    to.overruns += report["overruns"]
    to.tries += report["tries"]


def cyclictest_slice(rate: int, seconds: float, cpu: int, to: Late) -> None:
    command = ["cyclictest", "-m", "-q", "-t", "1", "-a", str(cpu), "-p", str(PRIORITY)]
    command += ["-i", str(round(1e6 / rate)), "-D", f"{max(round(seconds), 1)}", "-h", "50000"]
    out = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 60, check=True).stdout
    for late, count in re.findall(r"^(\d{6}) (\d+)$", out, re.M):
        if int(count):
            to.counts[float(late)] += int(count)
    if found := re.search(r"# Max Latencies: (\d+)", out):
        to.longest = max(to.longest, float(found[1]))


def measured(programs: dict[str, Path], rate: int, busy: bool, seconds: float, cpu: int) -> dict[str, Any]:
    """All contenders in turns; name -> its row."""
    names = [*programs, EMPTY, *([CYCLICTEST] if shutil.which("cyclictest") else [])]
    found = {name: Late() for name in names}
    slices = max(round(seconds / SLICE), 1)
    each = seconds / slices
    with load(busy):
        for k in range(slices):
            for name in names:
                words = f"{rate} Hz, {'busy' if busy else 'idle'}, slice {k + 1} of {slices}: {name}"
                print(f"\r{words:70}", end="", file=sys.stderr, flush=True)
                if name == CYCLICTEST:
                    cyclictest_slice(rate, each, cpu, found[name])
                elif name == EMPTY:
                    loop_slice(next(iter(programs.values())), ["--empty"], rate, each, cpu, found[name])
                else:
                    joint, speed = MECHANISMS[name]
                    still = [x for axis in (1, 2, 3) for x in ("--parameter", f"gravity[{axis}]=0")]
                    start = ["--start", f"{joint}={speed}", *still]
                    loop_slice(programs[name], start, rate, each, cpu, found[name])
    return {name: late.row() for name, late in found.items()}


def node_share(mechanism: str, seconds: float) -> float | None:
    """Percent of a core that the ROS node takes at 1 kHz; None where there is no ROS."""
    try:
        from .ros_node import measure

        return float(measure(mechanism, 1000.0, 100.0, seconds, 20)["cpu"])
    except ImportError:
        return None


def table(results: dict[str, Any]) -> str:
    lines = ["| rate | load | | p50 | p99 | p99.9 | max | CPU | overruns | sub-steps |", "|" + "---|" * 10]
    for run in results["runs"]:
        for name, row in run["rows"].items():
            cells = [f"{row[key]:.1f}" for key in (*QUANTILES, "max")]
            share = "" if name == CYCLICTEST else f"{row['cpu']:.2f} %"
            counts = ["", ""] if name == CYCLICTEST else [f"{row['overruns']}", f"{row['tries']}"]
            words = [f"{run['rate']} Hz", "busy" if run["busy"] else "idle", name, *cells, share, *counts]
            lines.append("| " + " | ".join(words) + " |")
    lines += ["", "lateness in µs", ""]
    for run in results["runs"]:
        for name in MECHANISMS:
            if name in run["rows"]:
                above = run["rows"][name]["p99"] - run["rows"][EMPTY]["p99"]
                kept = "met" if above <= ALLOWED_US else "MISSED"
                where = f"{run['rate']} Hz {'busy' if run['busy'] else 'idle'}"
                lines.append(f"{name}, {where}: p99 {above:+.1f} µs from the empty loop's ({kept})")
    for name, share in results["node_cpu"].items():
        if share is None:
            continue
        own = next(r["rows"][name]["cpu"] for r in results["runs"] if r["rate"] == 1000 and not r["busy"])
        kept = "met" if own <= ALLOWED_SHARE * share else "MISSED"
        lines.append(f"{name}: {own:.2f} % of a core at 1 kHz, the node {share:.1f} % ({kept})")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="of each contender in each combination")
    parser.add_argument("--rates", type=int, nargs="+", default=RATES, help="periods a second")
    parser.add_argument("--mechanism", nargs="+", choices=MECHANISMS, default=list(MECHANISMS))
    parser.add_argument("--cpu", type=int, default=(os.cpu_count() or 1) - 1, help="processor they run on")
    parser.add_argument("--no-node", action="store_true", help="leave the ROS node out")
    parser.add_argument("--json", action="store_true", help="print JSON for another program")
    parser.add_argument("--save", help="write the results as JSON too")
    args = parser.parse_args()
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ["ROS_DOMAIN_ID"] = str(1 + os.getpid() % 100)
    began = time.monotonic()
    results: dict[str, Any] = {"seconds": args.seconds, "load_average": os.getloadavg()[0], "runs": []}
    with tempfile.TemporaryDirectory(prefix="cutjoint-realtime-") as scratch:
        programs = {
            name: build_realtime(name, Path(scratch, name), parameters=("gravity",), library=False)
            for name in args.mechanism
        }
        for busy in (False, True):
            for rate in args.rates:
                rows = measured(programs, rate, busy, args.seconds, args.cpu)
                results["runs"].append({"rate": rate, "busy": busy, "rows": rows})
    asked = not args.no_node and 1000 in args.rates
    shares = {name: node_share(name, 20.0) for name in args.mechanism if asked}
    results |= {"node_cpu": shares, "minutes": (time.monotonic() - began) / 60}
    print("\r" + " " * 70 + "\r", end="", file=sys.stderr)
    print(json.dumps(results, indent=2) if args.json else table(results))
    if args.save:
        Path(args.save).write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
