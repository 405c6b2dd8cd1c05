"""MuJoCo as a contender: the same tree as MJCF, cut balls as `connect` constraints."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any
from xml.sax.saxutils import quoteattr

import mujoco
import mujoco.rollout
import numpy as np

from .parts import Cut, Part, Parts, back, coordinates, quaternion

NAME = "MuJoCo"
VERSION = mujoco.__version__
STEP = 1e-3
# MuJoCo's constraints are springs; these are the stiffest that it allows at this step.
STIFF = 'solref="0.002 1" solimp="0.9999 0.9999 0.001"'


class Peer:
    """Forward dynamics, finite-difference linearization and step, each one call."""

    def __init__(self, parts: Parts):
        self.parts = parts
        self.model = mujoco.MjModel.from_xml_string(mjcf(parts))
        self.data = mujoco.MjData(self.model)

    def set_state(self, q: Any, v: Any, u: Any) -> None:
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:] = coordinates(self.parts, q)
        self.data.qvel[:], self.data.ctrl[:] = np.asarray(v)[self.parts.order_v], u

    def accelerations(self, q: Any, v: Any, u: Any) -> np.ndarray:
        self.dynamics(q, v, u)()
        return back(self.parts, self.data.qacc)

    def dynamics(self, q: Any, v: Any, u: Any) -> Callable[[], Any]:
        self.set_state(q, v, u)
        call, model, data = mujoco.mj_forward, self.model, self.data
        return lambda: call(model, data)

    def linearization(self, q: Any, v: Any, u: Any) -> Callable[[], Any]:
        """The discrete A and B of one step by forward differences, the cheaper of its two ways."""
        return self._differences(q, v, u, False)

    def centered_linearization(self, q: Any, v: Any, u: Any) -> Callable[[], Any]:
        """The same by centered differences, which its manual gives for accuracy."""
        return self._differences(q, v, u, True)

    def _differences(self, q: Any, v: Any, u: Any, centered: bool) -> Callable[[], Any]:
        self.set_state(q, v, u)
        A = np.zeros((2 * self.model.nv, 2 * self.model.nv))
        B = np.zeros((2 * self.model.nv, self.model.nu))
        call, model, data = mujoco.mjd_transitionFD, self.model, self.data
        return lambda: call(model, data, 1e-6, centered, A, B, None, None)

    def step(self, q: Any, v: Any, u: Any) -> Callable[[], Any]:
        """One Runge-Kutta step of 1 ms, the order that cutjoint's step has."""
        self.set_state(q, v, u)
        model = copy(self.model)
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
        start = self.data.qpos.copy(), self.data.qvel.copy()
        call, data = mujoco.mj_step, self.data
        count = 0

        def advance() -> None:
            nonlocal count
            count += 1
            if count % 100 == 0:  # stay where the mechanism is regular
                data.qpos[:], data.qvel[:] = start
            call(model, data)

        return advance

    def rollout(self, q: Any, v: Any, u: np.ndarray, steps: int, scheme: str) -> Callable[[], Any]:
        """`steps` steps of many motions, a row of inputs each, in one thread; returns q and v at the ends."""
        self.set_state(q, v, u[0])
        model = copy(self.model)
        model.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{scheme.upper()}")
        kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
        start = np.zeros((len(u), mujoco.mj_stateSize(model, kind)))
        for row in start:
            mujoco.mj_getState(model, self.data, row, kind)
        control = np.repeat(u[:, None], steps, axis=1)
        many, data = mujoco.rollout.Rollout(nthread=0), mujoco.MjData(model)
        states = np.zeros((len(u), steps, start.shape[1]))

        def run() -> tuple[np.ndarray, np.ndarray]:
            many.rollout(model, data, start, control, nstep=steps, state=states)
            end = states[:, -1, 1:]  # the first is time
            return end[:, : model.nq], end[:, model.nq : model.nq + model.nv]

        return run


def mjcf(parts: Parts) -> str:
    """The model as MuJoCo's XML. A body's frame is the one behind its joint."""
    children: dict[int, list[int]] = {}
    for k, part in enumerate(parts.parts):
        children.setdefault(part.parent, []).append(k)

    def body(k: int) -> str:
        part = parts.parts[k]
        I = part.inertia  # noqa: E741  the usual symbol
        full = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]
        return (
            f'<body name={quoteattr(part.name)} pos="{_text(part.p)}" quat="{_text(quaternion(part.R))}">'
            f'<inertial mass="{part.mass!r}" pos="{_text(part.com)}" fullinertia="{_text(full)}"/>'
            + _joints(part, parts.damping)
            + _sites(parts, k)
            + "".join(body(c) for c in children.get(k, []))
            + "</body>"
        )

    names = {move.v.start: f"{part.name}_{k}" for part in parts.parts for k, move in enumerate(part.moves)}
    motors = "".join(f"<motor joint={quoteattr(names[v])}/>" for v in parts.motors)
    return (
        f'<mujoco><compiler autolimits="false" balanceinertia="false"/>'
        f'<option timestep="{STEP!r}" gravity="{_text(parts.gravity)}"/>'
        f"<worldbody>{_sites(parts, -1)}{''.join(body(k) for k in children.get(-1, []))}</worldbody>"
        f"<equality>{''.join(_connect(cut) for cut in parts.cuts)}</equality>"
        f"<actuator>{motors}</actuator></mujoco>"
    )


def _joints(part: Part, damping: np.ndarray) -> str:
    kinds = {"turn": "hinge", "slide": "slide", "ball": "ball"}
    text = ""
    for k, move in enumerate(part.moves):
        axis = "" if move.kind == "ball" else f' axis="{_text(move.axis)}"'
        loss = f' damping="{float(damping[move.v.start])!r}"' if damping[move.v.start] else ""
        text += f'<joint name={quoteattr(f"{part.name}_{k}")} type="{kinds[move.kind]}"{axis}{loss}/>'
    return text


def _sites(parts: Parts, k: int) -> str:
    """The points where cut balls meet, on one part (−1: ground)."""
    ends = [(c.name, n, point) for c in parts.cuts for n, (i, point) in enumerate(_ends(c)) if i == k]
    return "".join(f'<site name={quoteattr(f"{name}_{n}")} pos="{_text(p)}"/>' for name, n, p in ends)


def _ends(cut: Cut) -> tuple[tuple[int, np.ndarray], tuple[int, np.ndarray]]:
    return (cut.i, cut.pi), (cut.j, cut.pj)


def _connect(cut: Cut) -> str:
    return f"<connect site1={quoteattr(cut.name + '_0')} site2={quoteattr(cut.name + '_1')} {STIFF}/>"


def _text(numbers: Any) -> str:
    return " ".join(repr(float(x)) for x in numbers)
