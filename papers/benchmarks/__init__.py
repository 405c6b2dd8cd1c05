"""The multibody benchmark library: its problems against references, its limits, the CPU time to meet them.

Errors are of one joint's coordinate against the reference and of the energy against the work done, the
largest of some fifty moments. CPU time is that of the steps alone, on one core.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...model.base.errors import SimulationError
from ...model.describe.mechanism import Mechanism
from ...model.run.equilibrium import settle
from ...model.show.table import table
from ...model.simulation import Simulation
from .. import Progress, Study, Verdict
from . import problems, references, rolling

ABOUT = "the benchmark library: pendulum, four-bars, squeezer, Bricard, governor, slider-crank, bicycle"
MILLISECOND = 1e-3
LOOKS = 50
# Steps that are tried to meet a limit, longest first.
STEPS = (2e-2, 1e-2, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5, 1e-5)


@dataclass(frozen=True)
class Limit:
    """What a problem asks for: the largest error of the energy, J, or of the motion, rad or m."""

    of: str  # "energy" or "motion"
    most: float
    source: str  # "published", or why it is what it is


@dataclass(frozen=True)
class Benchmark:
    """A benchmark: the mechanism, what is compared, with what, and how well it has to agree."""

    name: str
    make: Callable[[], Mechanism]
    joint: str
    reference: Callable[[float], references.TimeCourse]
    end: float
    limit: Limit
    steppers: tuple[str, ...] = ("runge_kutta",)
    wanted: tuple[float, float] = (np.inf, np.inf)  # at 1 ms: errors of motion and energy


OURS, MEMORY = "ours: none is published", "as remembered; the page is not to be had"


def four_bar_benchmark(loops: int) -> Benchmark:
    """The row of four-bars of some length."""
    return Benchmark(
        f"A02 four-bars, N = {loops}",
        lambda: problems.four_bars(loops),
        "foot0",
        lambda end: references.four_bars_motion(loops),
        10.0,
        Limit("energy", 0.1, MEMORY),
        wanted=(1e-9, 1e-7),
    )


PROBLEMS = (
    Benchmark(
        "A01 pendulum",
        problems.pendulum,
        "hinge",
        lambda end: references.pendulum_motion,
        10.0,
        Limit("energy", 5e-5, "published"),
    ),
    *(four_bar_benchmark(n) for n in (1, 2, 5, 10, 20, 40)),
    Benchmark(
        "A03 Andrews' squeezer",
        problems.squeezer,
        "O",
        references.squeezer_motion,
        0.05,
        Limit("motion", 1e-4, OURS),
        ("runge_kutta", "implicit"),
    ),
    Benchmark(
        "A04 Bricard",
        problems.bricard,
        "hinge0",
        references.bricard_motion,
        10.0,
        Limit("energy", 1e-3, MEMORY),
        wanted=(1e-9, 1e-9),
    ),
    Benchmark(
        "Bennett",
        problems.bennett,
        "hinge0",
        references.bennett_motion,
        10.0,
        Limit("energy", 1e-3, "as Bricard's"),
        wanted=(1e-9, 1e-9),
    ),
    Benchmark(
        "A05 flyball governor",
        problems.governor,
        "slide",
        references.governor_motion,
        10.0,
        Limit("motion", 1e-4, OURS),
        ("runge_kutta", "implicit"),
    ),
    Benchmark(
        "spatial slider-crank",
        problems.slider_crank,
        "slide",
        references.slider_crank_motion,
        5.0,
        Limit("motion", 1e-4, OURS),
    ),
)


@dataclass(frozen=True)
class BenchmarkRun:
    """Errors and CPU seconds of a motion in steps of h."""

    h: float
    motion: float
    energy: float
    seconds: float


class Bench:
    """A problem with one of its steppers, ready to run with any step."""

    def __init__(self, problem: Benchmark, stepper: str, reference: references.TimeCourse):
        self.problem, self.stepper, self.reference = problem, stepper, reference
        self.simulation = Simulation(problem.make(), stepper=stepper)
        self.simulation.step(1e-9)  # builds the code

    def run(self, h: float) -> BenchmarkRun:
        """The whole motion; infinite errors where it runs away."""
        s, steps = self.simulation, round(self.problem.end / h)
        every = max(1, steps // LOOKS)
        row = s.variables().outputs.find(f"joint.{self.problem.joint}.position").where.start
        s.reset()
        before, moments, found, worst, seconds = s.energy(), [], [], 0.0, 0.0
        try:
            for done in range(0, steps, every):
                clock = time.process_time()
                for n in range(done, min(done + every, steps)):
                    s.step(h, (n + 1) * h)
                seconds += time.process_time() - clock
                moments.append(s.time)
                found.append(s.output_vector()[row])
                worst = max(worst, abs(s.energy() - before - s.work))
        except SimulationError:
            return BenchmarkRun(h, np.inf, np.inf, np.inf)
        apart = np.abs(np.array(found) - self.reference(np.array(moments))).max()
        return BenchmarkRun(h, float(apart), float(worst), seconds)

    def fastest(self) -> BenchmarkRun | None:
        """The longest step that meets the problem's limit."""
        limit = self.problem.limit
        for h in STEPS:
            if h * LOOKS <= self.problem.end or h <= MILLISECOND:
                found = self.run(h)
                if getattr(found, limit.of) <= limit.most:
                    return found
        return None


def row_of(problem: Benchmark, stepper: str, reference: references.TimeCourse) -> dict[str, Any]:
    """A line of the table."""
    bench = Bench(problem, stepper, reference)
    at, met = bench.run(MILLISECOND), bench.fastest()
    return {
        "problem": problem.name,
        "stepper": stepper,
        "motion at 1 ms": at.motion,
        "energy at 1 ms": at.energy,
        "s": at.seconds,
        "limit": f"{problem.limit.of} {problem.limit.most:g}",
        "met by a step of": met.h if met else np.inf,
        "CPU s": met.seconds if met else np.inf,
    }


def study(args: argparse.Namespace, progress: Progress) -> Study:
    rows: list[dict[str, Any]] = []
    verdicts: list[Verdict] = []
    for k, problem in enumerate(PROBLEMS):
        reference = problem.reference(problem.end)
        for stepper in problem.steppers:
            row = row_of(problem, stepper, reference)
            rows.append(row)
            verdicts += verdicts_on(problem, row)
        progress((k + 1) / (len(PROBLEMS) + 1))
    verdicts += spring() + rolling.verdicts()
    progress(1.0)
    text = "\n".join(
        [
            "Errors of the motion (rad or m) and of the energy (J) at 1 ms, CPU seconds of the steps,",
            "and the longest step tried that meets the limit, with its CPU seconds:",
            table([[_short(x) for x in row.values()] for row in rows], list(rows[0])),
        ]
    )
    return Study("The multibody benchmark library", text, {"rows": rows}, tuple(verdicts))


def _short(x: Any) -> Any:
    return f"{x:.2g}" if isinstance(x, float) else x


def verdicts_on(problem: Benchmark, row: dict[str, Any]) -> list[Verdict]:
    """Whether the limit is met, and at 1 ms what we want of ourselves."""
    name, limit = f"{problem.name}, {row['stepper']}", problem.limit
    met = bool(np.isfinite(row["CPU s"]))
    found = (
        f"{row['met by a step of']:g} s a step, {row['CPU s']:.2g} s of CPU" if met else "by no step tried"
    )
    unit = "J" if limit.of == "energy" else "rad or m"
    result = [Verdict(f"{name}: {limit.of}", f"{limit.most:g} {unit}", found, met, limit.source)]
    if np.isfinite(problem.wanted[0]):
        motion, energy = row["motion at 1 ms"], row["energy at 1 ms"]
        result.append(
            Verdict(
                f"{name}: at 1 ms",
                "{:g} rad, {:g} J".format(*problem.wanted),
                f"{motion:.1e} rad, {energy:.1e} J",
                motion <= problem.wanted[0] and energy <= problem.wanted[1],
            )
        )
    return result


def spring() -> list[Verdict]:
    """The four-bar with a diagonal spring: equilibrium and eigenvalues."""
    angle, expected = references.spring_equilibrium()
    simulation = Simulation(problems.spring_four_bar(), compile=False)
    found = settle(simulation)
    turned = problems.SPRING_ANGLE + found.coordinates["left"][0]
    values = sorted(found.eigenvalues, key=lambda z: z.imag)
    off = float(np.abs(values - np.array(sorted(expected, key=lambda z: z.imag))).max())
    z = expected[np.argmax(expected.imag)]
    return [
        Verdict(
            "spring four-bar: angle at rest", "2.2343310190 rad", f"{turned:.12f}", abs(turned - angle) < 1e-9
        ),
        Verdict(
            "spring four-bar: eigenvalues",
            f"{z.real:.9f} ± {z.imag:.9f}i (closed form)",
            f"two, {off:.1e} away",
            len(values) == 2 and off < 1e-9,
        ),
    ]
