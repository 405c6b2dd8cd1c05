"""Sweeps: the same table whoever made it, nothing lost, and a row for what can't be built."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cutjoint import CutjointError, Simulation
from cutjoint.model.batch import executors, store
from cutjoint.model.batch.executors import run_sweep
from cutjoint.model.batch.parameter_samples import SAMPLINGS, samples
from cutjoint.model.batch.results import sweep_summary
from cutjoint.model.batch.store import read_part, read_results
from cutjoint.model.batch.sweep import Sweep, make_part, sweep
from cutjoint.model.cli.main import main

pytest.importorskip("pyarrow")

FOOT = "joint.ground_pin.on_parent.position[1]"  # too far away in some runs
VARIED = [f"{FOOT}~uniform(0.25,0.85)", "body.coupler.mass=2,3"]


def small(runs: int = 40, **options: Any) -> Sweep:
    options = {"record": ["energy"], **options}
    return sweep("fourbar", VARIED, 0.02, runs=runs, **options)


def digests(folder: Path) -> dict[str, str]:
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.glob("part-*"))}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweep") / "whole"
    run_sweep(small(), folder, workers=1)
    return folder


@pytest.mark.parametrize("kind", SAMPLINGS)
def test_a_run_is_drawn_by_its_number(kind: str) -> None:
    found = samples(["a=1:2:0.5", "b~normal(3,0.1)", "c~triangular(0,1,4)"], 300, kind, seed=7)
    all_of_them = found.values(0, 300)
    assert np.array_equal(all_of_them[100:117], found.values(100, 17))
    assert np.array_equal(np.unique(all_of_them[:, 0]), [1.0, 1.5, 2.0])
    assert abs(all_of_them[:, 1].mean() - 3) < 0.02 and abs(all_of_them[:, 1].std() - 0.1) < 0.02
    assert (all_of_them[:, 2] > 0).all() and (all_of_them[:, 2] < 4).all()
    other = samples(["a=1:2:0.5", "b~normal(3,0.1)", "c~triangular(0,1,4)"], 300, kind, seed=8)
    assert not np.array_equal(other.values(0, 300)[:, 1], all_of_them[:, 1])


def test_grids_are_crossed_and_lists_are_read(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("a,b\n1,2\n3,4\n")
    found = samples(["c=0:0.3:0.1"], table=tmp_path / "list.csv")
    assert found.runs == 8 and found.names == ("a", "b", "c")
    assert np.allclose(found.values(0, 8)[3:5], [[1, 2, 0.3], [3, 4, 0.0]])


def test_rows_are_what_simulations_give(whole: Path) -> None:
    found = read_results(whole)
    assert np.array_equal(found["run"], np.arange(40))
    done = np.flatnonzero(found["end"] == "done")
    assert len(done) and len(done) < 40
    for k in done[:: max(1, len(done) // 3)]:
        mechanism = small().mechanism
        values = {"varied1": found["body.coupler.mass"][k], "varied2": found[FOOT][k]}
        simulation = Simulation(mechanism, parameters=values)
        energies = [simulation.energy()]
        for _ in range(20):
            simulation.step(1e-3)
            energies.append(simulation.energy())
        for kind, value in (("final", energies[-1]), ("min", min(energies)), ("max", max(energies))):
            assert found[f"{kind}.energy"][k] == pytest.approx(value, rel=1e-10, abs=1e-9)


def test_what_cant_be_built_is_a_row_that_says_so(whole: Path) -> None:
    found = read_results(whole)
    odd = found["end"] == "not assembled"
    assert odd.any() and (found["time"][odd] == 0).all() and np.isnan(found["final.energy"][odd]).all()
    assert all("loop" in why for why in found["why"][odd])
    told = sweep_summary(whole)
    assert sum(told["ends"].values()) == 40 and told["ends"]["not assembled"] == odd.sum()
    refused = make_part(sweep("fourbar", ["body.coupler.mass=-1,3"], 0.01), 0).columns
    assert refused["end"] == ["refused", "done"] and "mass" in refused["why"][0]


def test_runs_that_diverge_say_when() -> None:
    planned = sweep("arm", ["gravity[3]=-9.81,1e45"], 0.05, step=0.05)
    columns = make_part(planned, 0).columns
    assert columns["end"][0] == "done" and columns["end"][1] == "infinite"
    assert "became infinite at 0 s" in columns["why"][1]


def test_any_number_of_workers_gives_the_same_bytes(whole: Path, tmp_path: Path) -> None:
    run_sweep(small(), tmp_path / "three", workers=3)
    assert digests(tmp_path / "three") == digests(whole) and len(digests(whole)) == 5


def test_a_sweep_that_could_not_be_written_goes_on(whole: Path, tmp_path: Path) -> None:
    """No room after two parts, one of them damaged since: only what is missing is made."""
    resource = pytest.importorskip("resource")
    folder, before = tmp_path / "stopped", resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(done: float) -> None:
        if done >= 2 / 5:  # from here on the system refuses to write, as it does on a full disk
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))

    try:
        with pytest.raises(CutjointError, match=r"can't write '.*': .*; 2 of 5 parts are kept"):
            run_sweep(small(), folder, workers=2, progress=fill)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    parts = sorted(folder.glob("part-*"))
    assert len(parts) == 2 and not list(folder.glob(".*"))
    parts[0].write_bytes(b"damaged")
    untouched = parts[1].stat().st_mtime_ns
    run_sweep(small(), folder)
    assert digests(folder) == digests(whole) and parts[1].stat().st_mtime_ns == untouched
    with pytest.raises(CutjointError, match="holds another sweep, with another runs"):
        run_sweep(small(48), folder)


def test_a_damaged_part_is_named_and_made_again(whole: Path, tmp_path: Path) -> None:
    """Whatever byte is another: a part of which only the end was looked at counted as whole."""
    folder = tmp_path / "damaged"
    shutil.copytree(whole, folder)
    part = folder / "part-000001.parquet"
    good, kept = part.read_bytes(), repr(read_part(part).to_pydict())
    found = []
    for at in range(8, len(good), max(1, len(good) // 200)):
        part.write_bytes(good[:at] + bytes([good[at] ^ 0x55]) + good[at + 1 :])
        try:
            assert repr(read_part(part).to_pydict()) == kept  # what the byte says does not matter
        except CutjointError as error:
            found.append(part.read_bytes())
            assert "part-000001.parquet' is missing or damaged" in str(error)
    assert len(found) > 80
    part.write_bytes(found[0])
    with pytest.warns(UserWarning, match=r"damaged, and made again: part-000001\.parquet"):
        run_sweep(small(), folder)
    assert digests(folder) == digests(whole)


def test_a_part_without_end_is_not_read(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some kilobytes say the same number a thousand million times."""
    part = whole / "part-000001.parquet"
    read_part(part)
    monkeypatch.setattr(store, "LARGEST_PART", 100)
    with pytest.raises(CutjointError, match="is missing or damaged"):
        read_part(part)


@pytest.mark.parametrize(
    "text", ["[1, 2]", "{", "5", '{"names": 5}', '{"names": ["a"]}', "[" * 100_000, "\0", ""]
)
def test_what_a_folder_says_of_its_sweep_is_checked(text: str, whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "told"
    shutil.copytree(whole, folder)
    (folder / "sweep.json").write_text(text)
    for look in (lambda: run_sweep(small(), folder), lambda: sweep_summary(folder)):
        with pytest.raises(CutjointError, match="is damaged; remove the folder"):
            look()


def test_rows_of_two_versions_are_not_mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_sweep(small(), tmp_path / "rows")
    monkeypatch.setattr("cutjoint.model.batch.sweep.source_digest", lambda: "newer")
    with pytest.raises(CutjointError, match="holds another sweep, with another version of cutjoint"):
        run_sweep(small(), tmp_path / "rows")


KILLED = """
import os, signal, sys
from cutjoint.model.batch.executors import run_sweep
from cutjoint.model.batch.sweep import sweep

def kill(done):
    if done >= 0.4:
        os.kill(os.getpid(), signal.SIGKILL)

run_sweep(sweep("fourbar", sys.argv[2:], 0.02, runs=40, record=["energy"]), sys.argv[1], 2, progress=kill)
"""


def test_killed_in_the_middle_and_resumed(whole: Path, tmp_path: Path) -> None:
    """SIGKILL while parts are made, and a part half written: then the table of one that was never killed."""
    folder = tmp_path / "killed"
    run = subprocess.run([sys.executable, "-c", KILLED, str(folder), *VARIED], check=False)
    assert run.returncode == -signal.SIGKILL
    some = digests(folder)
    assert len(some) == 2
    (folder / ".part-000004-0badcafe.parquet").write_bytes(b"half")
    run_sweep(small(), folder, workers=1)
    assert digests(folder) == digests(whole) and some.items() <= digests(folder).items()
    assert not list(folder.glob(".*"))


def test_a_worker_that_dies_loses_no_row(whole: Path, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    folder = tmp_path / "cluster"
    with distributed.Client(
        processes=True,
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=None,
        worker_dashboard_address=None,
    ) as client:
        doomed = next(iter(client.run(os.getpid).values()))
        written = []

        def kill(done: float) -> None:
            if done and not written:
                os.kill(doomed, signal.SIGKILL)
            written.append(done)

        run_sweep(small(), folder, cluster=client, progress=kill)
    assert digests(folder) == digests(whole)


def test_series_are_lists(tmp_path: Path) -> None:
    planned = sweep("double_pendulum", ["gravity[2]=-9.81,-1"], 0.01, keep=["series"], every=5)
    run_sweep(planned, tmp_path / "out")
    found = read_results(tmp_path / "out")
    assert [len(row) for row in found["series.energy"]] == [3, 3] and "final.energy" not in found


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "sweep.png"
    command = [
        "sweep",
        "fourbar",
        "--vary",
        "body.coupler.mass~uniform(1,3)",
        "--runs",
        "16",
        "--time",
        "0.02",
    ]
    assert main([*command, "--torque", "all=1", "-o", str(tmp_path / "out"), "--plot", str(picture)]) == 0
    out = capsys.readouterr().out
    assert "16 runs: 16 done" in out and "final.energy" in out
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--vary", "tie_rod=0.5:0.4:0.01"], "--vary tie_rod: steps of 0.01 do not lead from 0.5 to 0.4"),
        (["--vary", "tie_rod=0.5:0.4:0"], "--vary tie_rod: steps of 0 do not lead"),
        (["--vary", "tie_rod=0:1:1e-12"], "has 1e+12 points; take longer steps"),
        (["--vary", "tie_rod=a,b"], "--vary tie_rod=a: must be a number, not 'a'"),
        (["--vary", "tie_rod~normal(0.4,0)"], "--vary tie_rod: normal wants a deviation above 0"),
        (["--vary", "tie_rod~gauss(0.4,1)"], "there is no law 'gauss'"),
        (["--vary", "tie_rod~normal(0.4)"], "normal takes mean, deviation, not '0.4'"),
        (["--vary", "tie_rod"], "--vary takes NAME=FIRST:LAST:STEP"),
        (["--vary", "body.wheeel.mass=1,2"], "can't vary 'body.wheeel.mass'"),
        (["--vary", "body.wheel.com=1,2"], "vary one of them, such as 'body.wheel.com[1]'"),
        (["--vary", "input.moter=1,2"], "there is no input 'input.moter'"),
        (["--vary", "tie_rod=1,2", "tie_rod=3,4"], "'tie_rod' is varied twice"),
        (["--vary", "tie_rod~uniform(0,1)"], "--runs must say how many samples to draw"),
        (
            ["--vary", "tie_rod=1,2", "--runs", "3"],
            "--runs must be a multiple of the 2 points of the grid, not 3",
        ),
        (["--vary", "tie_rod=1,2", "--record", "enrgy"], "there is no output 'enrgy'"),
        (["--vary", "tie_rod=1,2", "--keep", "last"], "there is no way 'last' to keep results"),
        (["--vary", "tie_rod=1,2", "--time", "-1"], "--time must be more than zero"),
        (["--vary", "tie_rod=1,2", "--sampling", "sobl"], "there is no sampling 'sobl'"),
        (["--samples", "nothing.csv"], "can't read the samples 'nothing.csv'"),
        ([], "nothing is varied"),
    ],
)
def test_mistakes_are_one_sentence(
    words: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "out"
    assert main(["sweep", "mcpherson", *words, "-o", str(folder)]) in (2, 4)
    error = capsys.readouterr().err
    assert sentence in error and error.count("\n") == 1 and "unexpected" not in error
    assert not folder.exists()


def test_folders_that_cant_be_used(tmp_path: Path) -> None:
    planned = small()
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    for folder, sentence in (("file", "it is a file"), ("full", "is not empty and holds no sweep")):
        with pytest.raises(CutjointError, match=re.escape(sentence)):
            run_sweep(planned, tmp_path / folder)
    with pytest.raises(CutjointError, match="can't create the folder"):
        run_sweep(planned, tmp_path / "file" / "deeper")
    if distributed_is_there():
        with pytest.raises(CutjointError, match="can't reach a Dask scheduler"):
            next(executors._distributed(planned, [0], "nonsense"))


def distributed_is_there() -> bool:
    from importlib.util import find_spec

    return find_spec("distributed") is not None


def test_an_input_is_varied_and_held_by_the_name_of_its_port_too() -> None:
    port = "motor.crank.torque"
    by_port = sweep("fourbar", [f"input.{port}=0,1"], 0.05, inputs={port: "1 N.m"})
    by_name = sweep("fourbar", ["input.crank=0,1"], 0.05, inputs={"crank": 1.0})
    assert by_port.inputs == by_name.inputs
    assert [target for _, target in by_port.where] == [target for _, target in by_name.where]
