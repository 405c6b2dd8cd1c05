"""A hundred thousand runs: killed and resumed, on a cluster whose worker dies, beside a loop in Python.

Minutes; run by `make study`, or alone: python -m pytest -q -s -m study tests/batch/test_sweep_study.py
"""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cutjoint import CutjointError, Simulation
from cutjoint.model.batch.executors import run_sweep
from cutjoint.model.batch.store import read_results
from cutjoint.model.batch.sweep import sweep

pytest.importorskip("pyarrow")
pytestmark = [pytest.mark.study, pytest.mark.timeout(7200)]

MASS, LENGTH = "body.platform.mass", "joint.ball1.on_parent.position[3]"
LAWS = {MASS: (10.0, 0.5), LENGTH: (0.355, 0.02)}
VARIED = [f"{name}~normal({mean},{spread})" for name, (mean, spread) in LAWS.items()]
TORQUE = 10.0


def command(runs: int, folder: Path) -> list[str]:
    words = [sys.executable, "-m", "cutjoint", "sweep", "stewart", "--vary", *VARIED]
    words += ["--torque", f"all={TORQUE}", "--runs", str(runs), "--time", "1", "-o", str(folder)]
    return [*words, "--record", "energy", "body.platform.position[3]"]


def digests(folder: Path) -> dict[str, str]:
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.glob("part-*"))}


def peak(pid: int) -> float:
    """Largest memory of a process so far, MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1e3
    return 0.0


def watched(words: list[str], kill_at: int | None = None) -> tuple[float, float]:
    """Seconds and peak memory of a sweep; killed when that many parts are there, if told."""
    folder, begin, most = Path(words[words.index("-o") + 1]), time.perf_counter(), 0.0
    run = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    while run.poll() is None:
        try:
            most = max(most, peak(run.pid))
        except OSError:
            break
        if kill_at is not None and len(list(folder.glob("part-*"))) >= kill_at:
            run.send_signal(signal.SIGKILL)
        time.sleep(0.2)
    assert run.wait() == (0 if kill_at is None else -signal.SIGKILL)
    return time.perf_counter() - begin, most


def test_a_hundred_thousand_runs(tmp_path: Path) -> None:
    runs = int(os.environ.get("CUTJOINT_STUDY_RUNS", "100000"))
    seconds, memory = watched(command(runs, tmp_path / "whole"))
    _, few = watched(command(runs // 10, tmp_path / "few"))
    print(f"\n{runs} runs of 1 s: {seconds:.0f} s, {memory:.0f} MB; {runs // 10} runs: {few:.0f} MB")
    assert memory < 1.3 * few
    watched(command(runs, tmp_path / "killed"), kill_at=40)
    kept = digests(tmp_path / "killed")
    watched(command(runs, tmp_path / "killed"))
    whole = digests(tmp_path / "whole")
    print(
        f"killed with {len(kept)} of {len(whole)} parts; after the same command again all bytes are the same"
    )
    assert digests(tmp_path / "killed") == whole and 40 <= len(kept) < len(whole)
    found = read_results(tmp_path / "whole", ["run", "end"])
    ends, counts = np.unique(found["end"].astype(str), return_counts=True)
    print(dict(zip(ends, counts.tolist(), strict=True)))
    assert np.array_equal(found["run"], np.arange(runs))


def test_a_dying_worker_of_a_cluster(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    planned = sweep(
        "stewart", VARIED, 1.0, runs=4000, inputs=dict.fromkeys(("motor1", "motor2", "motor3"), TORQUE)
    )
    run_sweep(planned, tmp_path / "here")
    with distributed.Client(
        processes=True, n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as client:
        pids = list(client.run(os.getpid).values())
        killed: list[float] = []

        def kill(done: float) -> None:
            if done > 0.3 and not killed:
                killed.append(done)
                os.kill(pids[0], signal.SIGKILL)

        run_sweep(planned, tmp_path / "there", cluster=client, progress=kill)
    assert killed and digests(tmp_path / "there") == digests(tmp_path / "here")
    print(f"\na worker killed at {100 * killed[0]:.0f} %: the same bytes")


def test_beside_a_loop_in_python(tmp_path: Path) -> None:
    """What a user would write without sweeps, for a thousand runs, and the sweep's rows beside it."""
    planned = sweep(
        "stewart", VARIED, 1.0, runs=1000, inputs=dict.fromkeys(("motor1", "motor2", "motor3"), TORQUE)
    )
    engine = Simulation(replace(planned.mechanism)).engine
    values = planned.samples.values(0, 1000)
    begin, energies = time.process_time(), []
    for mass, length in values:
        try:
            simulation = Simulation(engine, parameters={"varied1": mass, "varied2": length})
        except CutjointError:
            energies.append([np.nan] * 3)
            continue
        simulation.set_inputs([TORQUE] * 3)
        y = simulation.run(1.0, record=["energy"])["energy"]
        energies.append([y[-1], y.min(), y.max()])
    loop = time.process_time() - begin
    run_sweep(planned, tmp_path / "warm", workers=1)
    begin = time.process_time()
    run_sweep(planned, tmp_path / "rows", workers=1)
    own = time.process_time() - begin
    print(
        f"\n1000 runs, processor time: loop in Python {loop:.1f} s, sweep {own:.2f} s, {loop / own:.1f} times"
    )
    found = read_results(tmp_path / "rows")
    rows = np.array([found[f"{kind}.energy"] for kind in ("final", "min", "max")]).T
    settled = (found["refined"] == 0) & (found["end"] == "done")
    difference = np.abs(rows - energies)[settled]
    print(f"{settled.sum()} runs without refined steps differ by {difference.max():.1e} J")
    assert difference.max() < 1e-6
