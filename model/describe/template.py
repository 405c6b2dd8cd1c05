"""A description to start one's own from: an example's text, renamed, with notes on what to change and how."""

import re
import shlex
from collections.abc import Callable

from ..base.errors import DescriptionError
from .mechanism import Mechanism
from .reader import source_of
from .validation import Flaw

MOST = 6  # parameters that are suggested

_HEAD = """\
# {name}: your own mechanism, which starts as the example '{like}' of cutjoint.
#
# Change what you like; then ask, as often as you like:
#   cutjoint check {file}                          all that is wrong, and what looks odd
#   cutjoint show {file} --picture {name}.png      how it can move
#   cutjoint simulate {file} --report {name}.html  a run, with all there is to see
#
# Numbers are in SI units, or carry their own: "30 mm", "10 deg", "2 kN". docs/describing.md has every field.
# Editors complete and check what you type, once 'cutjoint schema -o cutjoint.schema.json' has written this:
# yaml-language-server: $schema=cutjoint.schema.json

"""
_PARAMETERS = """
# Numbers with names: change them without touching this file, by --parameter NAME=VALUE, in Python by
# Simulation("{file}", parameters={{...}}), in an FMU before the start. Add your own: NAME: PATH.
parameters:
"""


def template(name: str, like: str, file: str, read: Callable[[str, str], Mechanism]) -> str:
    """The text of a new description `name` that starts as an example; `read` says whether it can be used."""
    text, _ = source_of(like)
    own = re.sub(r"^name:.*$", f"name: {name}", text, count=1, flags=re.M)
    if own == text:
        own = f"name: {name}\n{text}"
    shown = shlex.quote(file)
    own = _HEAD.format(name=name, like=like, file=shown) + own.rstrip("\n") + "\n"
    mechanism = read(own, file)
    if not mechanism.parameters:
        own += _PARAMETERS.format(file=file)
        for key, path in _suggested(mechanism, own, file, read).items():
            own += f"  {key}: {path}\n"
    read(own, file)
    return own


def _suggested(
    mechanism: Mechanism, text: str, file: str, read: Callable[[str, str], Mechanism]
) -> dict[str, str]:
    """Names and paths of numbers that people change first: masses, dampers, springs, places of joints."""
    heaviest = sorted(mechanism.bodies, key=lambda body: -float(body.mass))[:2]
    paths = {f"{body.name}_mass": f"body.{body.name}.mass" for body in heaviest}
    for what in ("damping", "stiffness", "friction"):
        joint = next((j for j in mechanism.joints if any(getattr(j, what))), None)
        if joint is not None:
            paths[f"{joint.name}_{what}"] = f"joint.{joint.name}.{what}"
    paths |= {f"{s.name}_stiffness": f"strut.{s.name}.stiffness" for s in mechanism.struts if s.stiffness}
    paths |= {f"{j.name}_place": f"joint.{j.name}.on_parent.position" for j in mechanism.joints[:1]}
    fitting: dict[str, str] = {}
    for key, path in paths.items():
        lines = "".join(f"  {k}: {p}\n" for k, p in {**fitting, key: path}.items())
        try:
            read(text + lines, file)
        except (Flaw, DescriptionError):
            continue  # this one can't be changed here
        fitting[key] = path
        if len(fitting) == MOST:
            break
    return fitting
