"""The tables of docs/describing.md, from the definitions of the fields.

    python -m cutjoint.model.describe.manual docs/describing.md

writes each between its marks, `<!-- table: joints -->` and `<!-- end -->`.
"""

import re
import sys
from collections.abc import Iterable
from math import isinf
from pathlib import Path
from typing import Any

from ..base.units import typeset
from ..joints.types import TYPES, JointType
from .field_kinds import Group, PartField
from .fields import NEEDED, OWN, Field, Quantity, defaults_of, fields_of
from .mechanism import Mechanism
from .read_item import DRAWN, FORMS

_MARKED = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def update_tables(text: str) -> str:
    """The manual with its tables as the definitions have them now."""
    made = tables()
    return _MARKED.sub(lambda found: found[1] + made[found[2]] + found[3], text)


def tables() -> dict[str, str]:
    """Name -> table; those of the groups, of the file itself, of joint types and of parameters' paths."""
    groups = {k: f for k, f in fields_of(Mechanism).items() if isinstance(f, Group)}
    made = {key: _table(group.described) for key, group in groups.items()}
    made["file"] = _table(Mechanism)
    rows = ((f"`{t.name}`", t.about, _coordinates(t)) for t in TYPES.values())
    made["types"] = _rows(("type", "degrees of freedom", "coordinates"), rows)
    listed = ((group.word, _listed(_paths(group.described))) for group in groups.values())
    made["paths"] = "".join(f"- `{word}.<name>.` {paths}\n" for word, paths in listed if paths)
    return made


def _table(described: type) -> str:
    defaults = defaults_of(described)
    fields = {key: field for key, field in fields_of(described).items() if defaults[key] is NEEDED}
    fields |= DRAWN.get(described, {}) | FORMS.get(described, {}) | fields_of(described)
    rows = (_row(key, field, defaults.get(key)) for key, field in fields.items())
    return _rows(("field", "meaning", "unit", "values", "if left out"), rows)


def _row(key: str, field: Field, default: Any) -> tuple[str, ...]:
    names = field.files if isinstance(field, Group) else (key,)
    about, unit = field.help, ""
    if isinstance(field, Quantity):
        unit = typeset(field.unit)
        if field.joints is OWN:
            about += f"; for {_listed(t.name for t in TYPES.values() if key in t.fields)}"
    return _listed(names), about, unit, field.values(), _left_out(field, default)


def _left_out(field: Field, default: Any) -> str:
    if field.otherwise or default is NEEDED:
        return field.otherwise or "needed"
    numbers = default if isinstance(default, tuple) else (default,)
    if not default or all(isinstance(x, float) and isinf(x) for x in numbers):
        return "0" if default == 0 else "none"
    return "zero" if not any(numbers) else f"`{default}`" if isinstance(default, str) else f"{default:g}"


def _coordinates(kind: JointType) -> str:
    if kind.always_cut:
        return "none: always cut"
    words = ", ".join({"rad": "angle", "m": "distance"}.get(unit, "1") for unit in kind.position_units)
    return words.replace("1, 1, 1, 1", "Euler parameters w, x, y, z")


def _paths(described: type, stem: str = "") -> Iterable[str]:
    for key, field in fields_of(described).items():
        if isinstance(field, PartField):
            yield from _paths(field.described, f"{stem}{key}.")
        elif isinstance(field, Quantity) and field.parameter:
            yield stem + key


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _rows(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.write_text(update_tables(file.read_text(encoding="utf-8")), encoding="utf-8")
