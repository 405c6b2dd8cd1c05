"""Inverse kinematics of a platform beside mink's on MuJoCo, and passive joints from encoders, in loops of C.

Every pose is reached from home: what our library does not reach in one step, in several. mink iterates until
loops and platform are as near as the 3.6e-10 that it comes to.
"""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..model.base.subprocesses import scratch_folder
from ..model.chain.chain import Chain
from ..model.chain.target import Target
from ..model.compile.kernel import find_compiler
from .measure import Effort, Rows, Timing, rows, side_by_side
from .subjects import Subject

TASK, COMPLETED = "inverse kinematics", "joints from encoders"
IN_C, CALLED, PEER = "cutjoint, in C", "cutjoint, from Python", "mink"
FRAME = "platform"
POSES, SAMPLES = 20, 1000
PLACE, TILT = 0.03, np.deg2rad(5)  # about home
CLOSE, MOST = 1e-9, 100  # what mink comes as near to, and its iterations at most
SWEEP = 0.02  # m: amplitude of the legs' motion at 1 Hz, sampled at 1 kHz
LOOPS = r"""
#include <math.h>
#include <string.h>
typedef int (*inverse)(void*, const double*, const double*, const double*, double*, double*, double*);
typedef int (*complete)(void*, const double*, const double*, double, double*);

static int reach(inverse f, void* chain, const double* from, const double* to, int steps, double* q, int n)
{
    double pose[7];
    for (int k = 1; k <= steps; ++k) {
        const double part = (double)k / steps;
        for (int i = 0; i < 7; ++i) pose[i] = (1 - part) * from[i] + part * to[i];
        if (f(chain, pose, 0, 0, q, q + n, q + 2 * n)) return 1;
    }
    return 0;
}

int inverse_loop(inverse f, void* chain, const void* home, unsigned long size, const double* from,
                 const double* poses, int count, double* q, int n)
{
    int bad = 0;
    for (int k = 0; k < count; ++k) {
        int steps = 1;
        do memcpy(chain, home, size);
        while (reach(f, chain, from, poses + 7 * k, steps, q + 3 * n * k, n) && (steps *= 2) < 64);
        bad += steps >= 64;
    }
    return bad;
}

int complete_loop(complete f, void* chain, const double* measured, int count, int n, double* slack)
{
    int bad = 0;
    for (int k = 0; k < count; ++k) bad += f(chain, measured + n * k, 0, 0.01, slack) != 0;
    return bad;
}
"""


def kinematics(subject: Subject, effort: Effort, show: Callable[[float], None]) -> Rows:
    """Poses of the platform about home; of mechanisms whose platform has all six freedoms."""
    chain = Chain(subject.name)
    described = [x for x in chain.mechanism.targets if x.frame == FRAME and len(x.rows) == 6]
    if not described:
        return []
    home = chain.pose(FRAME)
    random = np.random.default_rng(1)
    poses = np.array([_pose(home, random) for _ in range(POSES)])
    with scratch_folder() as folder:
        library = _Library(subject.name, described[0].name, folder, home, poses)
        contenders: dict[str, Callable[[], Any]] = {IN_C: library.inverse, CALLED: _python(chain, poses)}
        if find_spec("mink") is not None:
            contenders[PEER] = _mink(subject, chain, poses)
        found = rows(TASK, subject.name, timings := side_by_side(contenders, effort, show), timings[IN_C])
        _check(library, contenders)
        once: dict[str, Timing] = side_by_side({IN_C: library.complete}, effort)
    return found + rows(COMPLETED, subject.name, once, once[IN_C])


def _pose(home: Any, random: np.random.Generator) -> np.ndarray:
    """Seven numbers: within PLACE along each axis, turned by up to TILT."""
    axis = random.normal(size=3)
    angle = TILT * random.uniform()
    turn = np.array([np.cos(angle / 2), *(np.sin(angle / 2) * axis / np.linalg.norm(axis))])
    return np.array([*(np.asarray(home.position) + random.uniform(-PLACE, PLACE, 3)), *turn])


def _check(library: _Library, contenders: dict[str, Any]) -> None:
    """A contender that does not come to the same legs is not compared."""
    for name, call in contenders.items():
        if hasattr(call, "legs") and np.abs(call.legs() - library.legs).max() > 1e-7:
            raise RuntimeError(f"{name} finds other leg lengths")


class _Library:
    """What `cutjoint library` writes, in loops of C."""

    def __init__(self, mechanism: str, target: str, folder: Path, home: Any, poses: np.ndarray):
        from ..native.chain_library import build_library

        build_library(mechanism, folder / "chain", frames=[target])
        chain = ctypes.CDLL(str(next((folder / "chain").glob("*.so"))))
        self._loops = _compiled(folder)
        self._size = getattr(chain, f"{mechanism}_chain_size")
        self._size.restype = ctypes.c_ulong
        size = self._size()
        self._home, self._chain = ((ctypes.c_double * (size // 8 + 1))() for _ in range(2))
        getattr(chain, f"{mechanism}_start")(self._home)
        self._inverse, self._complete = (getattr(chain, f"{mechanism}_{x}") for x in ("inverse", "complete"))
        self._from = np.array([*home.position, *home.orientation], float)
        self._poses, self._bytes = np.ascontiguousarray(poses), ctypes.c_ulong(size)
        self._found = np.zeros((len(poses), 3, 6))
        self.inverse()
        legs = self._found[:, 0]
        middle = legs.mean(axis=0)
        wave = SWEEP * np.sin(2 * np.pi * np.arange(SAMPLES) / SAMPLES)
        self._measured = np.ascontiguousarray(middle + wave[:, None])
        self._slack = np.zeros(6)

    @property
    def legs(self) -> np.ndarray:
        return self._found[:, 0].copy()

    def inverse(self) -> None:
        memory = (_at(x) for x in (self._from, self._poses))
        code = self._loops.inverse_loop(
            self._inverse,
            self._chain,
            self._home,
            self._bytes,
            *memory,
            len(self._poses),
            _at(self._found),
            6,
        )
        if code:
            raise RuntimeError(f"{code} poses are not reached")

    inverse.calls = POSES  # type: ignore[attr-defined]

    def complete(self) -> None:
        """From the first sample each time, which is at the middle of the legs' travel."""
        ctypes.memmove(self._chain, self._home, self._bytes.value)
        count = len(self._measured)
        code = self._loops.complete_loop(
            self._complete, self._chain, _at(self._measured), count, 6, _at(self._slack)
        )
        if code:
            raise RuntimeError(f"{code} of {count} samples are not completed")

    complete.calls = SAMPLES  # type: ignore[attr-defined]


def _at(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _compiled(folder: Path) -> ctypes.CDLL:
    source, library = folder / "loops.c", folder / "loops.so"
    source.write_text(LOOPS)
    command = [*(find_compiler() or ()), "-O2", "-fPIC", "-shared", "-o", str(library), str(source), "-lm"]
    subprocess.run(command, check=True, capture_output=True)
    return ctypes.CDLL(str(library))


class _Cycle:
    """One pose a call, all of them in turn."""

    def __init__(self, poses: np.ndarray, solve: Callable[[np.ndarray], np.ndarray]):
        self.poses, self.solve, self.count = poses, solve, 0

    def __call__(self) -> None:
        self.solve(self.poses[self.count % len(self.poses)])
        self.count += 1

    def legs(self) -> np.ndarray:
        return np.array([self.solve(pose) for pose in self.poses])


def _python(chain: Chain, poses: np.ndarray) -> _Cycle:
    def solve(pose: np.ndarray) -> np.ndarray:
        found = chain.inverse(Target(FRAME, pose[:3], pose[3:]))
        return np.array([x[0] for x in found.actuators.values()])

    return _Cycle(poses, solve)


def _mink(subject: Subject, chain: Chain, poses: np.ndarray) -> _Cycle:
    """The same loops as equality constraints of MuJoCo's model, the platform's pose as mink's task."""
    import mink
    import mujoco

    from .peer_mujoco import mjcf

    model = mujoco.MjModel.from_xml_string(mjcf(subject.parts))
    configuration = mink.Configuration(model)
    home = configuration.data.qpos.copy()
    task = mink.FrameTask(FRAME, "body", position_cost=1.0, orientation_cost=1.0)
    loops = mink.EqualityConstraintTask(model, cost=1.0)
    begin = configuration.get_transform_frame_to_world(FRAME, "body")
    ours = chain.pose(FRAME)
    drawn = mink.SE3(np.array([*ours.orientation, *ours.position], float))
    sliders = _sliders(subject)

    def solve(pose: np.ndarray) -> np.ndarray:
        configuration.update(home)
        wanted = mink.SE3(np.array([*pose[3:], *pose[:3]])) @ drawn.inverse() @ begin
        task.set_target(wanted)
        for _ in range(MOST):
            errors = task.compute_error(configuration), loops.compute_error(configuration)
            if max(np.abs(x).max() for x in errors) < CLOSE:
                break
            velocity = mink.solve_ik(configuration, [task, loops], 1.0, solver="daqp", damping=1e-12)
            configuration.integrate_inplace(velocity, 1.0)
        return np.array([configuration.data.qpos[model.jnt_qposadr[k]] for k in sliders])

    return _Cycle(poses, solve)


def _sliders(subject: Subject) -> list[int]:
    """Joints of MuJoCo's model that motors drive, in the order of the motors."""
    moves = [move.v.start for part in subject.parts.parts for move in part.moves]
    return [moves.index(v) for v in subject.parts.motors]
