"""Results of a run: files by their ending, data frames, units, and inputs that were cut off at a limit."""

from __future__ import annotations

import builtins
import warnings
from math import degrees
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cutjoint import CutjointError, Simulation
from cutjoint.model.base.units import in_unit, typeset
from cutjoint.model.laws.tables import read_table
from cutjoint.model.loading import read
from cutjoint.model.run.trajectory import Trajectory

NAMES = ["joint.crank_pin.position", "joint.crank_pin.velocity", "body.coupler.position", "energy"]


@pytest.fixture(scope="module")
def motion() -> Trajectory:
    return Simulation("fourbar", compile=False).run(0.05, 0.01, record=NAMES)


def without(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a library were not installed."""
    real = builtins.__import__

    def refuse(wanted: str, *rest: Any) -> Any:
        if wanted.split(".")[0] == name:
            raise ImportError(wanted)
        return real(wanted, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    monkeypatch.setattr("importlib.import_module", lambda wanted: refuse(wanted))


def test_pandas_and_xarray_get_all_of_it(motion: Trajectory) -> None:
    pandas, xarray = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    frame = motion.to_pandas()
    assert list(frame.columns) == list(motion.names) and frame.index.name == "time"
    np.testing.assert_array_equal(frame.to_numpy(), motion.values)
    assert frame.attrs["units"]["joint.crank_pin.velocity"] == "rad/s"
    whole = motion.to_xarray()
    assert isinstance(whole, xarray.Dataset) and whole["body.coupler.position"].shape == (6, 3)
    assert whole["energy"].attrs["units"] == "J" and whole["time"].attrs["units"] == "s"
    plain = pandas.DataFrame(dict(motion))  # and without asking: defect of an earlier day
    assert list(plain.columns) == list(motion) == list(motion.names) and len(list(motion)) == len(motion)
    unnamed = pandas.DataFrame(motion)  # knows names of dictionaries alone, but holds the numbers
    np.testing.assert_array_equal(unnamed.to_numpy(), motion.values)
    assert list(pandas.DataFrame(motion, columns=motion.names).columns) == list(motion.names)


def test_files_hold_the_same_numbers_and_units(motion: Trajectory, tmp_path: Path) -> None:
    parquet, h5py = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("h5py")
    for ending in ("csv", "parquet", "h5"):
        motion.in_units("deg").write(tmp_path / f"m.{ending}")
    table = parquet.read_table(tmp_path / "m.parquet")
    assert table.column_names == ["time", *motion.names]
    assert table.field("joint.crank_pin.velocity").metadata == {b"unit": b"deg/s"}
    angle = np.degrees(motion["joint.crank_pin.position"])
    np.testing.assert_allclose(table["joint.crank_pin.position"].to_numpy(), angle, rtol=1e-14)
    with h5py.File(tmp_path / "m.h5") as file:
        assert file["joint.crank_pin.position"].attrs["unit"] == "deg"
        np.testing.assert_allclose(file["joint.crank_pin.position"][:], angle, rtol=1e-14)
        np.testing.assert_array_equal(file["time"][:], motion.time)
    head = (tmp_path / "m.csv").read_text().splitlines()[0]
    assert head.startswith('"time",joint.crank_pin.position (deg),joint.crank_pin.velocity (deg/s),body.')
    again = read_table(str(tmp_path / "m.csv"), "joint.crank_pin.position", "rad")  # what we write we read
    assert again(0.03).x[0] == pytest.approx(motion["joint.crank_pin.position"][3], rel=1e-14)
    assert {p.name for p in tmp_path.iterdir()} == {"m.csv", "m.parquet", "m.h5"}


@pytest.mark.parametrize(("ending", "library"), [("parquet", "pyarrow"), ("h5", "h5py"), ("hdf5", "h5py")])
def test_a_missing_library_is_told_with_the_command_that_brings_it(
    motion: Trajectory, ending: str, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(library, monkeypatch)
    with pytest.raises(
        CutjointError, match=f"needs {library}, which is not installed: pip install {library}"
    ):
        motion.write(tmp_path / f"m.{ending}")
    assert not list(tmp_path.iterdir())


def test_other_libraries_and_endings(
    motion: Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CutjointError, match=r"must end in one of \.csv, \.parquet, \.h5, \.hdf5"):
        motion.write(tmp_path / "m.xlsx")
    for library, make in (("pandas", motion.to_pandas), ("xarray", motion.to_xarray)):
        without(library, monkeypatch)
        with pytest.raises(CutjointError, match=f"needs {library}"):
            make()


def test_units_serve_quantities_of_their_kind_and_their_rates(motion: Trajectory) -> None:
    assert in_unit("rad/s2", ["deg"]) == ("deg/s2", pytest.approx(np.pi / 180))
    assert in_unit("rad/s", ["deg", "rpm"]) == ("rpm", pytest.approx(np.pi / 30))
    assert in_unit("N.m", ["mm", "N.mm"]) == ("N.mm", pytest.approx(1e-3))
    assert in_unit("N.m", ["mm"]) == ("N.m", 1.0) and in_unit("J", ["mm"]) == ("J", 1.0)
    assert typeset("rad/s2") == "rad/s²" and typeset("N.m") == "N·m" and typeset("1") == ""
    with pytest.raises(CutjointError, match="there is no unit 'furlong'"):
        motion.in_units("furlong")
    shown = motion.in_units("deg", "mm")
    assert shown.units == ("deg", "deg/s", "mm", "mm", "mm", "J")
    assert shown["energy"].tolist() == motion["energy"].tolist()
    assert shown["joint.crank_pin.position"][2] == pytest.approx(
        degrees(motion["joint.crank_pin.position"][2]), rel=1e-14
    )
    assert motion.part(["energy"]).in_units("mm").names == ("energy",)


LIMITED = """
gravity: 0
bodies: {cart: {mass: 2, com: [0, 0, 0]}}
joints: {rail: {type: prismatic, parent: ground, child: cart, at: [0, 0, 0], axis: x}}
motors: {push: {joint: rail, limit: 3}}
"""


CABLE = """
gravity: 0
bodies: {cart: {mass: 2, com: [0, 0, 0]}}
joints: {rail: {type: prismatic, parent: ground, child: cart, at: [0, 0, 0], axis: x}}
cylinders: {winch: {body1: ground, body2: cart, point1: [1, 0, 0], point2: [0, 0, 0], acts: pulls, limit: 9}}
"""


def test_an_input_of_one_side_is_cut_off_on_the_other_only() -> None:
    s = Simulation(read(CABLE, "cable.yaml"), compile=False)
    sides = {x.name: (x.low, x.high) for x in s.variables().inputs}
    assert sides["winch"] == (-9, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        s.run(0.05, 0.01, inputs={"winch": -5})
    with pytest.warns(UserWarning, match=r"commanded 5 N and gave no more than its limit, 0"):
        s.run(0.05, 0.01, inputs={"winch": 5})
    with pytest.warns(UserWarning, match=r"commanded -12 N and gave no more than its limit, -9"):
        s.run(0.05, 0.01, inputs={"winch": -12})


@pytest.mark.parametrize("inputs", [{"push": "sine(5, 1)"}, None])
def test_an_input_that_a_limit_cuts_off_is_told_once(inputs: dict[str, str] | None) -> None:
    s = Simulation(read(LIMITED, "limited.yaml"), compile=False)
    if inputs is None:
        s.set_inputs({"push": 5.0})
    with pytest.warns(UserWarning, match=r"'push' was commanded 5 N and gave no more than its limit, 3") as w:
        run = s.run(0.5, 0.01, inputs=inputs, record=["input.push"])
    assert len(w) == 1 and run["input.push"].max() == pytest.approx(5)
    assert run.cut_off[0][0].name == "push"
