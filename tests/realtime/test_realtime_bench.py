"""How late loops wake: the measuring itself, in short."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from cutjoint.benchmarks.realtime import CYCLICTEST, EMPTY, Late, table


def test_slices_are_put_together() -> None:
    late, times = Late(), np.random.default_rng(1).integers(1, 200, 5000)
    for part in np.split(times, 10):
        for x in part:
            late.counts[float(x)] += 1
        late.longest = max(late.longest, float(part.max()))
    row = late.row()
    assert row["p50"] == np.quantile(times, 0.5, method="inverted_cdf")
    assert row["p99"] == np.quantile(times, 0.99, method="inverted_cdf") and row["max"] == times.max()


def test_the_table_says_what_is_met() -> None:
    def row(p99: float, cpu: float) -> dict[str, float]:
        return {"p50": 1.0, "p99": p99, "p99.9": 2.0, "max": 3.0, "cpu": cpu, "overruns": 0, "tries": 0}

    rows = {"stewart": row(30.0, 5.0), "hexapod": row(50.0, 9.0), EMPTY: row(25.0, 2.0)}
    rows[CYCLICTEST] = row(24.0, float("nan"))
    runs = [{"rate": 1000, "busy": False, "rows": rows}]
    text = table({"runs": runs, "node_cpu": {"stewart": 20.0, "hexapod": None}})
    assert "stewart, 1000 Hz idle: p99 +5.0 µs from the empty loop's (met)" in text
    assert "hexapod, 1000 Hz idle: p99 +25.0 µs from the empty loop's (MISSED)" in text
    assert "stewart: 5.00 % of a core at 1 kHz, the node 20.0 % (met)" in text


@pytest.mark.study
def test_it_runs() -> None:
    command = [sys.executable, "-m", "cutjoint.benchmarks.realtime", "--seconds", "1", "--rates", "1000"]
    command += ["--mechanism", "stewart", "--no-node", "--json"]
    found = json.loads(subprocess.check_output(command, text=True))
    assert [run["busy"] for run in found["runs"]] == [False, True]
    assert all({"stewart", EMPTY} <= set(run["rows"]) for run in found["runs"])
