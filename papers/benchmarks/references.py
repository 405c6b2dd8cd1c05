"""Reference motions of the benchmark problems, by means that the engine has no part in.

Where one angle says all, positions of equal-moment points of every body are written as closed formulas
of it. Their derivatives by complex steps (no differences, no cancellation) give the inertia I(θ) and the
force −V′(θ), polynomials through them what lies between, and I′. Then I θ̈ + ½ I′ θ̇² + V′ = 0 is one number's
equation, solved by SciPy to 1e-13. The pendulum and the four-bars have closed solutions, the governor an
equation in two unknowns.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, pi, sin, sqrt
from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.special import ellipj, ellipkm1

from . import problems as p

G = 9.81
H = 1e-30  # a complex step: its square vanishes beside 1
DEGREE = 200  # of polynomials over a turn: coefficients have come down to round-off by then
EDGE = 0.6  # rad
PRECISE: dict[str, Any] = {"rtol": 1e-13, "atol": 1e-13}
TimeCourse = Callable[[np.ndarray], np.ndarray]  # times -> what is compared


# -- closed solutions -----------------------------------------------------------------------------


def pendulum_motion(t: np.ndarray) -> np.ndarray:
    """The angle turned since the start: sin(θ/2) = k sn(K − ω t), θ from below, 90° at first."""
    m = sin(pi / 4) ** 2
    sn = ellipj(ellipkm1(1 - m) + sqrt(G) * t, m)[0]
    return pi / 2 - 2 * np.arcsin(sqrt(m) * sn)


def four_bars_motion(loops: int) -> TimeCourse:
    """The angle of the uprights: φ̈ = a sin φ from φ = 0, φ̇ = −1, which turns over and over."""
    a = 3 * (3 * loops + 1) * G / (2 * (4 * loops + 1))
    fastest = sqrt(1 + 4 * a)
    m1 = 1 / fastest**2
    return lambda t: -(pi + 2 * ellipj(fastest * t / 2 - ellipkm1(m1), 1 - m1)[3])


# -- one angle ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OneAngle:
    """Masses (n) at points(θ), (n, 3), under gravity and a further potential; I is smooth on [start, end]."""

    masses: np.ndarray
    points: Callable[[Any], Any]
    gravity: tuple[float, float, float]
    span: tuple[float, float]
    more: Callable[[Any], Any] = lambda angle: 0.0
    turns: bool = False  # whether the span is a whole turn that may be repeated

    def potential(self, angle: Any) -> Any:
        return self.more(angle) - self.masses @ (self.points(angle) @ np.array(self.gravity))

    def inertia(self, angle: float) -> float:
        rates = self.points(angle + 1j * H).imag / H
        return float(self.masses @ (rates**2).sum(axis=1))

    def force(self, angle: float) -> float:
        return -float(self.potential(angle + 1j * H).imag / H)

    def motion(self, start: float, speed: float, end: float) -> Callable[[np.ndarray], np.ndarray]:
        """Times -> angle, speed."""
        low, high = self.span
        margin = EDGE if self.turns else 0.0  # slopes of polynomials are rough at their ends
        domain = (low - margin, high + margin)
        inertia, force = (
            Chebyshev.interpolate(np.vectorize(f), DEGREE, domain) for f in (self.inertia, self.force)
        )
        slope = inertia.deriv()

        def rate(_: float, x: np.ndarray) -> list[float]:
            angle = low + (x[0] - low) % (high - low) if self.turns else x[0]
            return [x[1], (force(angle) - 0.5 * slope(angle) * x[1] ** 2) / inertia(angle)]

        found = solve_ivp(rate, (0.0, end), [start, speed], "DOP853", dense_output=True, **PRECISE)
        return lambda t: np.asarray(found.sol(t))


def moments(mass: float, inertia: Any) -> Any:
    """How far from the centre six equal parts of a mass lie, two along each axis, to have these inertias."""
    return np.sqrt(3 * (np.sum(inertia) / 2 - np.asarray(inertia)) / mass)


def six_points(mass: float, com: Any, axes: Any, inertia: Any) -> Any:
    """Six points that move as the body does; each has a sixth of its mass."""
    arms = [d * np.asarray(axis) for d, axis in zip(moments(mass, inertia), axes, strict=True)]
    return [com + sign * arm for arm in arms for sign in (1, -1)]


def bars(hinges: tuple[Any, Any], mass: float, inertia: Any) -> Any:
    """Points of bars from hinge to hinge: of equal mass, alike, the inertia along them first."""
    at, axes = hinges
    found = [six_points(mass, *p.between(at[k], at[k + 1], axes[k]), inertia) for k in range(len(at) - 1)]
    return np.array([point for six in found for point in six])


def bricard_hinges(angle: Any) -> tuple[Any, Any]:
    """Points and axes of all six hinges; angles are θ and φ in turn, sin φ = −sin θ/(1 + sin θ)."""
    other = np.arcsin(-np.sin(angle) / (1 + np.sin(angle)))
    points, axes = [np.zeros(3)], [p.Y]
    drawn = np.array([(1, 0, 0), (0, -1, 0), (0, 0, 1), (-1, 0, 0), (0, 1, 0)], float)
    turn = np.eye(3)
    for k, about in enumerate((1, 2, 0, 1, 2)):
        turn = turn @ p.about(about, angle if k % 2 == 0 else other)
        points.append(points[-1] + turn @ drawn[k])
        axes.append(turn[:, (about + 1) % 3])
    return np.array(points), np.array(axes)


def bricard_motion(end: float) -> TimeCourse:
    """The angle of the first hinge."""
    masses = np.full(30, 1 / 6)
    inertia = (1 / 600, 101 / 1200, 101 / 1200)
    system = OneAngle(masses, lambda x: bars(bricard_hinges(x), 1.0, inertia), p.DOWN_Y, (-0.1, pi + 0.1))
    motion = system.motion(0.0, 0.0, end)
    return lambda t: motion(t)[0]


def bennett_motion(end: float) -> TimeCourse:
    """The angle of the first hinge, counted from the start."""
    system = OneAngle(
        np.full(18, 1 / 6),
        lambda x: bars(p.bennett_points(x), 1.0, p.BENNETT_INERTIA),
        p.DOWN_Y,
        (0.0, 2 * pi),
        turns=True,
    )
    motion = system.motion(p.BENNETT_START, 0.0, end)
    return lambda t: motion(t)[0] - p.BENNETT_START


def crank_points(angle: Any) -> Any:
    """Points of the spatial slider-crank's three bodies; the crank has turned by `angle` about x."""
    a, b, c = p.CRANK_POINTS
    turn = p.about(0, angle)
    b = a + turn @ (b - a)
    c = np.array([np.sqrt(0.3**2 - b[1] ** 2 - b[2] ** 2), 0, 0])
    crank = six_points(p.CRANK[0], (a + b) / 2, turn.T, p.CRANK[1])
    rod = six_points(p.CONNECTING_ROD[0], *p.between(b, c, np.cross(p.X, c - b)), p.CONNECTING_ROD[1])
    return np.array([*crank, *rod, c])


def slider_crank_motion(end: float) -> TimeCourse:
    """How far the slider has gone."""
    masses = np.array([p.CRANK[0] / 6] * 6 + [p.CONNECTING_ROD[0] / 6] * 6 + [p.CRANK_SLIDER[0]])
    system = OneAngle(masses, crank_points, p.DOWN_Z, (0.0, 2 * pi), turns=True)
    motion = system.motion(0.0, p.CRANK_SPEED, end)
    return lambda t: np.array([crank_points(x)[-1, 0] for x in motion(t)[0]]) - p.CRANK_POINTS[2, 0]


# -- Andrews' squeezer: dyads of known lengths on a crank ------------------------------------------------


def meeting(one: Any, radius: float, other: Any, reach: float, side: int) -> Any:
    """Where two circles meet, on one side of the line between their centres."""
    d = other - one
    square = d @ d
    along = (radius**2 - reach**2 + square) / (2 * square)
    return one + along * d + side * np.sqrt(radius**2 / square - along**2) * quarter(d)


def quarter(v: Any) -> Any:
    """A quarter turn of a vector in the plane."""
    return np.array([-v[1], v[0]])


def squeezer_places(beta: Any) -> tuple[Any, Any, Any]:
    """Centres of the seven bodies, unit vectors fixed to them, and the spring's end D."""
    crank = np.array([np.cos(beta), np.sin(beta)])
    F = p.ORIGIN + p.RR * crank
    E = meeting(F, p.D, p.B, p.SS, 1)
    g, h = meeting(p.A, p.ZT, E, p.E, 1), meeting(p.A, p.U, E, p.ZF, -1)
    rod, plate = (F - E) / p.D, (E - p.B) / p.SS
    ge, ag, he, ah = (E - g) / p.E, (g - p.A) / p.ZT, (E - h) / p.ZF, (h - p.A) / p.U
    centres = (
        p.ORIGIN + p.RA * crank,
        F - p.DA * rod,
        p.B + p.SA * plate + p.SB * quarter(plate),
        g + (p.E - p.EA) * ge,
        p.A + p.TA * ag + p.TB * quarter(ag),
        h + (p.ZF - p.FA) * he,
        p.A + p.UA * ah - p.UB * quarter(ah),
    )
    return centres, (crank, rod, plate, ge, ag, he, ah), p.B + p.SC * plate + p.SD * quarter(plate)


def squeezer_points(beta: Any) -> Any:
    centres, units, _ = squeezer_places(beta)
    arms = [sqrt(J / m) * u for J, m, u in zip(p.SQUEEZER_INERTIA, p.SQUEEZER_MASS, units, strict=True)]
    ends = [c + sign * arm for c, arm in zip(centres, arms, strict=True) for sign in (1, -1)]
    return np.array([[*x, 0.0] for x in ends])


def squeezer_potential(beta: Any) -> Any:
    """Of the spring and of the constant torque."""
    d = squeezer_places(beta)[2] - p.C
    stretch = np.sqrt(d @ d) - p.SQUEEZER_LENGTH
    return 0.5 * p.SQUEEZER_SPRING * stretch**2 - p.SQUEEZER_TORQUE * beta


def squeezer_motion(end: float) -> TimeCourse:
    """The angle of the crank, counted from the start."""
    beta = p.SQUEEZER_START["beta"]
    masses = np.repeat(np.array(p.SQUEEZER_MASS) / 2, 2)
    system = OneAngle(
        masses, squeezer_points, (0, 0, 0), (beta, beta + 2 * pi), squeezer_potential, turns=True
    )
    motion = system.motion(beta, 0.0, end)
    return lambda t: motion(t)[0] - beta


# -- others ---------------------------------------------------------------------------------------


def governor_motion(end: float) -> TimeCourse:
    """How far the slider has gone. Both arms move alike, and the angular momentum stays."""
    m, ball, box = p.ROD_MASS, p.BALL_MASS, p.THICK**2 / 12
    shaft = 0.3 * 2 * box + p.SLIDER_MASS * 0.1**2 / 6
    swing = m * (1 / 3 + box) + ball

    def spin(a: Any) -> Any:
        """Inertia about the shaft; moments of the arm about its own axes turn with it."""
        arm = m * (p.ARM**2 + p.ARM * np.cos(a) + np.cos(a) ** 2 / 3 + box + box * np.sin(a) ** 2)
        return shaft + 2 * (arm + ball * (p.ARM + np.cos(a)) ** 2)

    momentum = spin(p.GOVERNOR_ANGLE) * p.GOVERNOR_TURN

    def rate(_: float, x: np.ndarray) -> list[float]:
        s, a, ds, da = x
        d = np.array([0.5 * cos(a), 1 - 0.5 * sin(a) - s])
        along = d / np.hypot(*d)
        moved = np.array([-0.5 * sin(a), -0.5 * cos(a)])
        faster = along @ (moved * da) - along[1] * ds
        force = p.GOVERNOR_STIFFNESS * (np.hypot(*d) - p.GOVERNOR_LENGTH) + p.GOVERNOR_DAMPING * faster
        turning = 0.5 * (spin(a + 1j * H).imag / H) * (momentum / spin(a)) ** 2
        weight = G * (m / 2 + ball) * cos(a)
        return [
            ds,
            da,
            2 * force * along[1] / p.SLIDER_MASS - G,
            (turning / 2 - force * along @ moved + weight) / swing,
        ]

    start = [0.5, p.GOVERNOR_ANGLE, 0.0, 0.0]
    found = solve_ivp(rate, (0.0, end), start, "LSODA", dense_output=True, **PRECISE)
    return lambda t: found.sol(t)[0] - 0.5


def spring_equilibrium() -> tuple[float, np.ndarray]:
    """The equilibrium's angle and the two eigenvalues: length of the diagonal 2 cos(φ/2)."""
    k, c, relaxed = p.SPRING

    def force(angle: float) -> float:
        """−V′; half of the outer rods' weight and the top rod's hang on the angle."""
        return k * (2 * cos(angle / 2) - relaxed) * sin(angle / 2) - 2 * G * cos(angle)

    angle = brentq(force, 2.0, 2.5, xtol=1e-15, rtol=1e-15)
    slope = k * (
        -(sin(angle / 2) ** 2) + 0.5 * (2 * cos(angle / 2) - relaxed) * cos(angle / 2)
    ) + 2 * G * sin(angle)
    inertia = 2 / 3 + 1.0
    return angle, np.roots([inertia, c * sin(angle / 2) ** 2, -slope])
