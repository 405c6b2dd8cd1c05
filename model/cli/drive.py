"""`--drive crank=60rpm`: a motor or cylinder follows a motion, whatever the description says it gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from ..base.errors import CutjointError, DescriptionError
from ..base.units import quantity
from ..describe.validation import nearest

if TYPE_CHECKING:
    from ..describe.mechanism import Mechanism

TEXT = "let a motor or cylinder follow a speed or a position, by the unit: crank=60rpm, ram=0.3m"


def with_drives(mechanism: Mechanism, words: Sequence[str]) -> tuple[Mechanism, dict[str, float]]:
    """The mechanism with what `words` say driven, and the values of these inputs."""
    values: dict[str, float] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise CutjointError(f"--drive takes NAME=VALUE with a unit, such as crank=60rpm, not '{word}'")
        mechanism, values[name] = _driven(mechanism, name, text)
    return mechanism, values


def _driven(mechanism: Mechanism, name: str, text: str) -> tuple[Mechanism, float]:
    """One motor or cylinder; a plain motor takes the place of one with gears, windings or limits."""
    from ..describe.motors import Motor  # help should not wait for it

    motor = next((m for m in mechanism.motors if m.name == name), None)
    strut = next((s for s in mechanism.struts if s.name == name and s.actuated), None)
    if motor is None and strut is None:
        known = [item.name for item in mechanism.drives]
        raise CutjointError(f"--drive: there is no motor or cylinder '{name}'; {nearest(name, known)}")
    kind = mechanism.joint_type(motor) if motor else None
    unit = "m" if kind is None or kind.speed_units[0] == "m/s" else "rad"
    drive, value = _motion(name, text, unit)
    if motor:
        motors = tuple(Motor(name, m.joint, drive=drive) if m is motor else m for m in mechanism.motors)
        return replace(mechanism, motors=motors), value
    struts = tuple(
        replace(s, drive=drive, limit=inf, acts="both") if s is strut else s for s in mechanism.struts
    )
    return replace(mechanism, struts=struts), value


def _motion(name: str, text: str, unit: str) -> tuple[str, float]:
    """What a value with a unit is: a speed or a position, in SI."""
    if not text.replace(".", "", 1).lstrip("-").isdigit():
        for drive, wanted in (("velocity", f"{unit}/s"), ("position", unit)):
            try:
                return drive, quantity(text, wanted)
            except DescriptionError:
                continue
    advice = "write it with a unit, such as 60rpm, 0.2m/s or 30deg"
    raise CutjointError(f"--drive {name}: '{text}' is no speed or position; {advice}")
