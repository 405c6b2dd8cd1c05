"""One path from a command to the inputs: Python and C run the same code, with servos and forces mixed."""

from __future__ import annotations

import ctypes
import functools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cutjoint import Simulation, load
from cutjoint.model.control.command_law import FORCE, POSITION, VELOCITY
from cutjoint.model.control.command_policy import TIMEOUT
from cutjoint.model.control.computed_torque import CommandPath, Drives, Wanted
from cutjoint.model.control.input_ranges import drive_ranges
from cutjoint.model.control.joint_values import JointValues
from cutjoint.model.describe.mechanism import Mechanism
from cutjoint.realtime.build import build_realtime
from fmu_tools import folder

FREQUENCY = 20.0


def mixed() -> Mechanism:
    """A shoulder with a servo that takes a speed and a torque too, and an elbow that is a limited torque."""
    arm = load("parallel_robot")
    shoulder, elbow = arm.motors
    servo = replace(shoulder, servo_stiffness=4e4, servo_damping=900.0, feed_forward="both")
    return replace(arm, name="mixed", motors=(servo, replace(elbow, limit=200.0)))


def driven() -> tuple[Simulation, Drives]:
    simulation = Simulation(mixed(), compile=False)
    values = JointValues(simulation)
    values.read()
    return simulation, Drives(simulation, values, FREQUENCY)


def test_an_elbow_without_a_servo_follows_beside_a_shoulder_that_has_one() -> None:
    simulation, drives = driven()
    assert simulation.inputs == ("shoulder", "shoulder_speed", "shoulder_torque", "elbow")
    held = drives.held()
    for _ in range(1500):
        simulation.set_inputs(drives.forces(held, FREQUENCY))
        simulation.step(1e-3)
    assert simulation.u[2] == 0.0  # nobody told it a torque
    goal = held.changed(3, POSITION, held.value[3] + 0.2)
    for _ in range(1500):
        simulation.set_inputs(drives.forces(goal, FREQUENCY))
        simulation.step(1e-3)
    drives.values.read()
    assert drives.position[3] == pytest.approx(goal.value[3], abs=1e-6)
    assert drives.position[0] == pytest.approx(held.value[0], abs=5e-3)  # a servo gives way under load


def test_orders_are_refused_by_number_and_relax_by_kind() -> None:
    path, ranges = CommandPath(mixed()), np.array(drive_ranges(mixed()))
    order = path.order_of_values([0.3, 0.2, 5.0, 500.0])
    assert order.kind.tolist() == [POSITION, FORCE, FORCE, FORCE] and order.rate[0] == 0.2
    assert path.check_order(order, ranges) == (0, 4)
    for k in range(4):
        for bad in (np.nan, np.inf, -1e9):
            assert path.check_order(order.changed(k, order.kind[k], bad), ranges)[0] == k + 1
    assert path.check_order(order.changed(3, POSITION, 0.0, rate=np.nan), ranges)[0] == 4
    for stays, left in ((False, [0.3, 0.0, 0.0, 0.0]), (True, [0.3, 0.2, 5.0, 500.0])):
        relaxed, silent = path.relax_order(order, 0.3, TIMEOUT, stays)
        assert silent and relaxed.value.tolist() == left and not relaxed.rate.any()
    assert not path.relax_order(order, 0.3, 0.0, False)[1]  # 0: no watchdog


@functools.cache
def library() -> Path:
    where = folder() / "command-path"
    build_realtime(mixed(), where, optimize=1)
    return where / "mixed.so"


class Native:
    """The functions of native.h on arrays."""

    def __init__(self) -> None:
        self.c = ctypes.CDLL(str(library()))
        self.c.cutjoint_new.restype = ctypes.c_void_p
        self.c.cutjoint_check_order.restype = ctypes.c_size_t
        self.c.cutjoint_timeout.restype = self.c.cutjoint_longest_hold.restype = ctypes.c_double
        self.m = ctypes.c_void_p(self.c.cutjoint_new(None, None))
        assert self("begin") == 0

    def __call__(self, name: str, *arguments: Any) -> Any:
        def plain(x: Any) -> Any:
            if isinstance(x, np.ndarray):
                return x.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
            return ctypes.c_double(x) if isinstance(x, float) else x

        return getattr(self.c, f"cutjoint_{name}")(self.m, *map(plain, arguments))


def same(order: np.ndarray, wanted: Wanted) -> None:
    np.testing.assert_array_equal(order, np.concatenate(wanted))  # NaN too


@pytest.mark.compiler
def test_python_and_c_make_the_same_of_any_sequence() -> None:
    """Orders by value and by field, NaN, infinities, more than any drive gives; silences; steps between."""
    native, (simulation, drives), path = Native(), driven(), CommandPath(mixed())
    ranges, n, chance = np.array(drive_ranges(mixed())), 4, np.random.default_rng(5)
    assert native.c.cutjoint_timeout() == TIMEOUT
    wanted = Wanted.forces(np.zeros(n))
    followed = refused = relaxed = 0
    for _ in range(300):
        order = np.concatenate(wanted)
        if chance.random() < 0.5:
            values = chance.normal(size=n) * [0.3, 0.1, 5.0, 400.0]
            native("order_of_values", values, order)
            told = path.order_of_values(values)
        else:
            fields = np.where(chance.random((4, n)) < 0.5, np.nan, 0.3 * chance.normal(size=(4, n)))
            fields[chance.random((4, n)) < 0.02] = chance.choice([np.inf, -1e300, 1e9])
            native("order_of_fields", np.ascontiguousarray(fields.ravel()), order)
            told = path.order_of_fields(fields, wanted)
        same(order, told)
        cut = ctypes.c_int()
        number = native("check_order", order, ranges, ctypes.byref(cut))
        refusal, beyond = path.check_order(told, ranges)
        assert (number, bool(cut.value)) == (refusal, bool(beyond))
        assert number == native("check_order", order, None, ctypes.byref(cut))
        refused += number > 0
        order = np.concatenate(wanted) if number else order
        wanted = wanted if number else told
        age = float(chance.choice([0.0, 0.1, 0.3]))
        silent = native("relax_order", age, TIMEOUT, 0, order)
        wanted, over = path.relax_order(wanted, age, TIMEOUT, False)
        same(order, wanted)
        assert bool(silent) == over
        relaxed += over
        u = np.zeros(n)
        native("follow_order", order, FREQUENCY, u)
        found = drives.forces(wanted, FREQUENCY)
        assert u == pytest.approx(found, rel=1e-9, abs=1e-9)
        assert np.abs(u[3]) <= 200.0
        followed += wanted.kind[3] in (POSITION, VELOCITY)
        assert native("drive", u) == 0 and native("step", 1e-3) == 0
        simulation.set_inputs(found)
        simulation.step(1e-3)
    assert min(followed, refused, relaxed) > 10
    native.c.cutjoint_free(native.m)
