"""What a description may say in short, written out before it is read: numbers, solids, patterns.

- `numbers` names numbers; a text that begins with `=` is arithmetic on them (`arithmetic.py`).
- `inertia: {solid: rod, …}` is that of a homogeneous solid of the body's mass.
- `patterns` repeats bodies, joints and what is on them, turned about an axis.
"""

from collections.abc import Mapping
from typing import Any

from ..base.errors import DescriptionError
from ..base.units import kind
from .arithmetic import SIGN, Measure, evaluate, measure
from .pattern import repeated
from .solids import solid_inertia
from .validation import Flaw, Place, field_flaw

NUMBERS, PATTERNS = "numbers", "patterns"
DIRECTIONS = ("axis", "across")  # whose length does not matter: that from a point to another will do
KEYS = {
    NUMBERS: "numbers by name, for arithmetic: `=arm / 2` anywhere a number may stand",
    PATTERNS: "bodies, joints and what is on them, repeated by turning; see below",
}


def written_out(values: Any) -> Any:
    """The same description without shorthand; a `Flaw` says where it is wrong."""
    if not isinstance(values, dict):
        return values
    known = _numbers(values.get(NUMBERS))
    plain = {key: value for key, value in values.items() if key not in KEYS}
    plain = {key: _computed(value, (key,), known) for key, value in plain.items()}
    patterns = values.get(PATTERNS) or {}
    if not isinstance(patterns, dict):
        raise Flaw((PATTERNS,), f"patterns must be a mapping of names, not {kind(patterns)}")
    if patterns and values.get("axes", "world") != "world":
        raise Flaw((PATTERNS,), "patterns turn what is drawn: they need 'axes: world'")
    for name, pattern in patterns.items():
        place = (PATTERNS, name)
        computed = _computed(pattern, place, known)
        plain = repeated(
            plain, _with_solids(computed, place) if isinstance(computed, dict) else computed, place
        )
    return _with_solids(plain, ())


def _numbers(given: Any) -> dict[str, Measure]:
    """Values of the named numbers; each may use those above it."""
    known: dict[str, Measure] = {}
    if given is not None and not isinstance(given, dict):
        raise Flaw((NUMBERS,), f"numbers must be a mapping of names, not {kind(given)}")
    for name, value in (given or {}).items():
        try:
            known[name] = measure(value, known)
        except DescriptionError as problem:
            raise Flaw((NUMBERS, name), f"it {problem}") from None
    return known


def _computed(value: Any, place: Place, known: Mapping[str, Measure]) -> Any:
    """The value with every expression in it computed."""
    if isinstance(value, dict):
        return {key: _computed(x, (*place, str(key)), known) for key, x in value.items()}
    if isinstance(value, list):
        return [_computed(x, place, known) for x in value]
    if not isinstance(value, str) or not value.startswith(SIGN):
        return value
    try:
        found = evaluate(value[1:], known)
        return found.value if place[-1] in DIRECTIONS else found.text()
    except DescriptionError as problem:
        raise field_flaw(place, problem) from None


def _with_solids(values: dict[str, Any], place: Place) -> dict[str, Any]:
    """Bodies whose inertia is that of a solid, with the six numbers instead."""
    bodies = values.get("bodies")
    if not isinstance(bodies, dict):
        return values
    changed = {}
    for name, body in bodies.items():
        inertia = body.get("inertia") if isinstance(body, dict) else None
        if isinstance(inertia, dict) and "solid" in inertia:
            here = (*place, "bodies", name)
            if "mass" not in body:
                raise Flaw((*here, "mass"), "the field 'mass' is missing")
            six = solid_inertia(inertia, body["mass"], (*here, "inertia"))
            changed[name] = body | {"inertia": list(six)}
    return values | {"bodies": bodies | changed} if changed else values
