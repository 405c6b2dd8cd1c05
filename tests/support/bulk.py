"""Many cases of one property: two by `make quick`, some in every run, the others by `make study`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pytest

# Of the examples one of each kind: a tree, a planar loop with a redundant row, legs on balls, drives with
# states, cables, couplings, springs and distance joints, cylinders, wheels.
KINDS = ("double_pendulum", "fourbar", "stewart", "servo_stewart", "cable_platform", "gripper", "mcpherson")
KINDS += ("loader", "bicycle")
QUICK = 2  # cases for `make quick`; the further ones of every run are marked so


def bulk(cases: Sequence[Any], each_run: int | Collection[Any]) -> list[Any]:
    """Cases for `parametrize` or a fixture: beyond the first few, or those named, marked `study`.

    Of these few, all but the first two are marked `further`.
    """
    every = cases[:each_run] if isinstance(each_run, int) else each_run
    assert every and set(every) <= set(cases), "each property has a case in every run"
    found, ran = [], 0
    for case in cases:
        ran += case in every
        mark = pytest.mark.study if case not in every else pytest.mark.further if ran > QUICK else ()
        found.append(pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=mark))
    return found
