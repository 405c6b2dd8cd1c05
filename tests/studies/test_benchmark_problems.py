"""The benchmark library's problems: references against what is published, the engine against references."""

import numpy as np
import pytest
from cutjoint.papers.benchmarks import PROBLEMS, Bench, problems, references, spring
from scipy.integrate import solve_ivp

BY_NAME = {problem.name: problem for problem in PROBLEMS}


def test_the_squeezer_is_where_the_test_set_has_it() -> None:
    """The crank's angle at 30 ms, as the test set of initial value problems prints it."""
    beta = references.squeezer_motion(0.03)(np.array([0.03]))[0] + problems.SQUEEZER_START["beta"]
    assert beta == pytest.approx(15.81077119629904, abs=5e-9)


def test_the_spatial_slider_crank_ends_where_others_have_it() -> None:
    assert references.slider_crank_motion(5.0)(np.array([5.0]))[0] + 0.2 == pytest.approx(0.240720, abs=1e-6)


@pytest.mark.parametrize("loops", [1, 40])
def test_elliptic_functions_solve_the_four_bars(loops: int) -> None:
    a = 3 * (3 * loops + 1) * 9.81 / (2 * (4 * loops + 1))
    times = np.linspace(0, 10, 20)
    found = solve_ivp(
        lambda t, x: [x[1], a * np.sin(x[0])], (0, 10), [0, -1], "DOP853", times, rtol=1e-13, atol=1e-13
    )
    assert np.abs(references.four_bars_motion(loops)(times) - found.y[0]).max() < 1e-10


def test_bricards_hinges_close() -> None:
    """The formulas' last hinge is where the ground has it, and turns about x; the third point is known."""
    for angle in (0.3, 1.5, 2.9):
        points, axes = references.bricard_hinges(angle)
        s = np.sin(angle)
        assert points[5] == pytest.approx([0, 0, 1], abs=1e-14) and axes[5] == pytest.approx(
            [1, 0, 0], abs=1e-14
        )
        end = [np.cos(angle) / (1 + s), -np.sqrt(1 + 2 * s) / (1 + s), -s / (1 + s)]
        assert points[2] == pytest.approx(end, abs=1e-14)


def test_bennetts_hinges_close() -> None:
    points, axes = problems.bennett_points(2.5)
    assert points[3] == pytest.approx([0, 0, 0], abs=1e-14) and axes[3] == pytest.approx([0, 0, 1], abs=1e-14)


def bench(name: str, stepper: str = "runge_kutta") -> Bench:
    problem = BY_NAME[name]
    return Bench(problem, stepper, problem.reference(problem.end))


@pytest.mark.parametrize(
    ("name", "motion", "energy"),
    [
        ("A01 pendulum", 1e-10, 1e-10),
        ("A02 four-bars, N = 1", 1e-9, 1e-7),
        ("A02 four-bars, N = 5", 1e-9, 1e-7),
        pytest.param(
            "A02 four-bars, N = 40", 1e-7, 1e-5, marks=pytest.mark.study
        ),  # round-off decides how near to the singular pose it steps
        ("A04 Bricard", 1e-9, 1e-9),
        pytest.param("Bennett", 1e-9, 1e-8, marks=pytest.mark.study),
        pytest.param("spatial slider-crank", 1e-6, 1e-6, marks=pytest.mark.study),
    ],
)
def test_a_millisecond_is_enough(name: str, motion: float, energy: float) -> None:
    found = bench(name).run(1e-3)
    assert found.motion < motion
    assert found.energy < energy


def test_the_squeezer_by_explicit_and_implicit_steps() -> None:
    for stepper, most in (("runge_kutta", 1e-8), ("implicit", 1e-6)):
        assert bench("A03 Andrews' squeezer", stepper).run(1e-5).motion < most


def test_the_governor_by_implicit_steps() -> None:
    """Its fast mode decays within 0.1 ms; steps of 10 ms are a hundred times as long."""
    found = bench("A05 flyball governor", "implicit")
    assert found.run(1e-2).motion < 1e-4
    assert found.run(1e-3).motion < 1e-7


def test_the_spring_holds_the_rhombus() -> None:
    assert all(verdict.reproduces for verdict in spring())
