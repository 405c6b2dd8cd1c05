"""A mechanism in which every vector has something: q longer than v, z, u with driven motions s, p.

The platform of `servo_stewart` on a carriage that is moved along a rail: balls have Euler parameters,
windings currents, the rail is driven by position, the payload can be changed.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from cutjoint import Body, Frame, Joint, Mechanism, Motor, load, save
from fmu_tools import folder

PAYLOAD = 13.0  # kg, instead of 10


def on_a_carriage() -> Mechanism:
    platform = load("servo_stewart")
    legs = (replace(j, parent="carriage") if j.parent == "ground" else j for j in platform.joints)
    rail = Joint("rail", "prismatic", "ground", "carriage", Frame(), Frame())
    return replace(
        platform,
        name="on_a_carriage",
        bodies=(*platform.bodies, Body("carriage", 20.0, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 0.0, 0.0, 0.0))),
        joints=(rail, *legs),
        motors=(Motor("lead", "rail", drive="position"), *platform.motors),
    )


@cache
def file() -> str:
    path = Path(folder(), "on_a_carriage.yaml")
    save(on_a_carriage(), path)
    return str(path)
