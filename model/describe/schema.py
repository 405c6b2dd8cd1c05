"""A JSON Schema of description files, from the fields' definitions: for completion and checks as one types.

It knows names, kinds, sizes and signs of fields, which joint types have which, and how units are written.
What items say of each other (a body that is not there, a loop that can't close) only `cutjoint check` knows.
"""

from functools import singledispatch
from math import isfinite
from typing import Any

from ..base.thresholds import LARGEST
from ..base.units import UNITS, parse_unit, typeset
from ..joints.types import TYPES, JointType
from .field_kinds import (
    Choice,
    Direction,
    Flag,
    Gravity,
    Group,
    Inertia,
    Names,
    Numbers,
    Orientation,
    PartField,
    Reference,
    References,
    Text,
    TypeOfJoint,
)
from .fields import NEEDED, NOT_ZERO, OWN, POSITIVE, Field, Quantity, defaults_of, fields_of
from .mechanism import GROUND, Body, Joint, Mechanism, Strut
from .parameters import path_pattern
from .read_item import DRAWN, FORMS
from .shorthand import KEYS, NUMBERS, PATTERNS
from .solids import SOLIDS

Schema = dict[str, Any]
_COMPUTED: Schema = {"type": "string", "pattern": "^="}  # arithmetic on `numbers`
_ABSENT: Schema = {"type": "null"}  # as if it were not there
DIALECT = "https://json-schema.org/draft/2020-12/schema"
NAME = "^[A-Za-z_][A-Za-z0-9_]*$"
_OUTPUT = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*(\[[1-9]\d*\])?$"
_NUMBER = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,4})?\s*"
_FACTOR = rf"({'|'.join(sorted(UNITS, key=len, reverse=True))})\s*(\^?\s*-?[1-9]|[²³])?"


def schema() -> Schema:
    """The schema of a whole description."""
    defaults = defaults_of(Mechanism)
    properties: Schema = {key: _field(form) for key, form in FORMS[Mechanism].items()}
    for key, field in fields_of(Mechanism).items():
        if isinstance(field, Group):
            for name in field.files:
                properties[name] = _group(field)
        else:
            properties[key] = _field(field)
    properties["name"] |= {"pattern": NAME}
    properties["outputs"]["additionalProperties"] |= {"pattern": _OUTPUT}
    properties["parameters"]["additionalProperties"] |= {"pattern": path_pattern()}
    properties["bodies"] |= {"propertyNames": {"pattern": NAME, "not": {"const": GROUND}}}
    needed = [k for k, f in fields_of(Mechanism).items() if isinstance(f, Group) and defaults[k] is NEEDED]
    properties |= _shorthand(properties)
    whole = {
        "$schema": DIALECT,
        "title": "Cutjoint description of a mechanism",
        "type": "object",
        "properties": properties,
        "if": {"properties": {"axes": {"const": "body"}}, "required": ["axes"]},
        "then": {"properties": _not_drawn()},
        "else": {"properties": _drawn()},
        "anyOf": [{"required": needed}, {"required": ["patterns"]}],
        "additionalProperties": False,
        "$defs": {
            "direction": {
                "anyOf": [
                    {"enum": [f"{sign}{axis}" for sign in ("", "+", "-") for axis in "xyz"]},
                    _list(_one(Quantity("", "1")), 3) | {"contains": {"not": {"const": 0}}},
                ]
            },
        },
    }
    patterns: dict[str, str] = {}
    shared: Schema = _shared(whole, patterns)
    shared["$defs"] |= {name: {"type": "string", "pattern": pattern} for pattern, name in patterns.items()}
    return shared


def _shorthand(properties: Schema) -> Schema:
    """Named numbers, and patterns of what the groups hold."""
    one = {"anyOf": [{"type": "number"}, {"type": "string"}]}
    groups = [n for f in fields_of(Mechanism).values() if isinstance(f, Group) for n in f.files]
    pattern = {
        "copies": {"anyOf": [{"type": "integer", "minimum": 1}, _COMPUTED]},
        "axis": {"$ref": "#/$defs/direction"},
        "centre": _list(_one(Quantity("", "m")), 3),
    } | {name: properties[name] for name in groups}
    rules = {
        NUMBERS: one,
        PATTERNS: {
            "type": "object",
            "properties": pattern,
            "required": ["copies"],
            "additionalProperties": False,
        },
    }
    return {
        key: {"description": KEYS[key], "type": ["object", "null"], "additionalProperties": rule}
        for key, rule in rules.items()
    }


def _shared(part: Any, patterns: dict[str, str]) -> Any:
    """The same schema with each way to write units said once."""
    if isinstance(part, dict):
        if set(part) == {"type", "pattern"}:
            name = patterns.setdefault(part["pattern"], f"measured{len(patterns) + 1}")
            return {"$ref": f"#/$defs/{name}"}
        return {key: _shared(value, patterns) for key, value in part.items()}
    return [_shared(value, patterns) for value in part] if isinstance(part, list) else part


def _group(group: Group) -> Schema:
    """Named items."""
    item = _joint(group) if group.described is Joint else _item(group.described)
    return {
        "description": group.help,
        "type": ["object", "null"],
        "propertyNames": {"pattern": NAME},
        "additionalProperties": item,
    }


def _item(described: type) -> Schema:
    fields = fields_of(described) | FORMS.get(described, {}) | DRAWN.get(described, {})
    found: Schema = {
        "type": "object",
        "properties": {key: _nullable(_field(field)) for key, field in fields.items()},
        "required": [k for k, x in defaults_of(described).items() if x is NEEDED],
        "additionalProperties": False,
    }
    ends = [k for k, f in fields.items() if isinstance(f, Reference) and f.word == "body" and f.but != GROUND]
    if len(ends) > 1:  # other bodies can't be compared
        found["not"] = {"properties": {key: {"const": GROUND} for key in ends}, "required": ends}
    if described is Body:
        found["required"] = ["mass"]
    if described is Strut:
        found["required"] = ["body1", "body2"]
    return found


def _joint(group: Group) -> Schema:
    """A joint: what it may say depends on its type."""
    cases = []
    for kind in TYPES.values():
        changed = {key: _of_joint(field, key, kind) for key, field in fields_of(Joint).items()}
        properties = {key: rule for key, rule in changed.items() if rule is not None}
        rule: Schema = {"properties": properties}
        if "pitch" in kind.fields:
            rule["oneOf"] = [{"required": ["pitch"]}, {"required": ["lead"]}]
        else:
            properties["lead"] = _ABSENT
        cases.append(_case(kind, rule))
    return _item(group.described) | {"allOf": cases}


def _case(kind: JointType, rule: Schema) -> Schema:
    return {"if": {"properties": {"type": {"const": kind.name}}, "required": ["type"]}, "then": rule}


def _not_drawn() -> Schema:
    """In body axes there are no places as drawn."""
    groups = {
        group.described: group.files for group in fields_of(Mechanism).values() if isinstance(group, Group)
    }
    return {
        name: {"additionalProperties": {"properties": dict.fromkeys(forms, _ABSENT)}}
        for described, forms in DRAWN.items()
        for name in groups[described]
    }


def _drawn() -> Schema:
    """As drawn, bodies and joints say where they are; which joint says what depends on its type."""
    cases = []
    for kind in TYPES.values():
        places, others = (("point1", "point2"), ("at",)) if kind.two_ends else (("at",), ("point1", "point2"))
        absent = [*others, *(("axis", "across", "orientation") if kind.directionless_ends else ())]
        rule: Schema = {"properties": dict.fromkeys(absent, _ABSENT)}
        needed: Schema = {"required": list(places)}
        if kind.directed:
            turned = ["axis", "across"] if kind.needs_across else ["axis"]
            needed["anyOf"] = [{"required": turned}, {"required": ["orientation"]}]
        sides = {"anyOf": [{"required": ["on_parent"]}, {"required": ["on_child"]}]}
        cases.append(_case(kind, rule | {"if": sides, "else": needed}))
    body = {"anyOf": [{"required": ["com"]}, {"required": ["origin"]}]}
    return {"bodies": {"additionalProperties": body}, "joints": {"additionalProperties": {"allOf": cases}}}


def _of_joint(field: Field, key: str, kind: JointType) -> Schema | bool | None:
    """What a type of joints makes of a field: none, or as many numbers as it has freedoms."""
    if not isinstance(field, Quantity):
        return None
    if not field.joints.holds(kind, key) or (field.follows_joint and not field.units(kind)):
        return _ABSENT
    if field.follows_joint:
        one = _one(field)
        return _nullable(
            {"anyOf": [one, _list(one, len(field.units(kind))), {"type": "array", "maxItems": 0}]}
        )
    return None


def _nullable(rule: Schema) -> Schema:
    """A field without a value is one that is left out."""
    about = {"description": rule.pop("description")} if "description" in rule else {}
    return {**about, "anyOf": [rule, {"type": "null"}]}


def _list(item: Schema, size: int | None = None) -> Schema:
    sizes = {} if size is None else {"minItems": size, "maxItems": size}
    return {"type": "array", "items": item, **sizes}


def _one(field: Quantity) -> Schema:
    """One number of a quantity, plain with its sign, or as a text with a unit."""
    low, sign = field.sign.low, "exclusiveMinimum" if field.sign is POSITIVE else "minimum"
    # NaN is the number that is neither above zero nor not
    plain: Schema = {"type": "number", "not": {"maximum": 0, "exclusiveMinimum": 0}}
    if not field.infinite:
        plain |= {"minimum": -LARGEST, "maximum": LARGEST}
    if isfinite(low):
        plain |= {sign: low}
    if field.sign is NOT_ZERO:
        plain |= {"not": {"anyOf": [{"const": 0}, plain["not"]]}}
    return {"anyOf": [plain, {"type": "string", "pattern": _measured(field.unit)}, _COMPUTED]}


def _measured(units: str) -> str:
    """How a number with a unit is written: one unit that fits, or several that are multiplied and divided."""
    wanted = [unit for text in units.split(" or ") if (unit := parse_unit(text)) is not None]
    fitting = [name for name, unit in UNITS.items() if any(unit.fits(other) for other in wanted)]
    several = rf"{_FACTOR}(\s*[*·⋅./ ]\s*{_FACTOR})+"
    alone = "|".join(sorted(fitting, key=len, reverse=True))
    if units == "1":
        return f"{_NUMBER}$"
    power = rf"({'|'.join(UNITS)})\s*(\^?\s*-?[1-9]|[²³])"
    return rf"{_NUMBER}(({several})|({power}){f'|({alone})' if alone else ''})?\s*$"


def _field(field: Field) -> Schema:
    """A field, with what the manual says of it."""
    unit = f" ({typeset(field.unit)})" if isinstance(field, Quantity) and typeset(field.unit) else ""
    about = f"{field.help}{unit}"
    if isinstance(field, Quantity) and field.joints is OWN:
        about += "; only of some joint types"
    return {"description": about, **_rule(field)}


@singledispatch
def _rule(field: Field) -> Schema:
    """What a value of a kind of field may be; anything, of a kind that nobody has described."""
    return {}


@_rule.register
def _(field: Quantity) -> Schema:
    one = _one(field)
    if field.single:
        return one
    if isinstance(field.size, int):
        return _list(one, field.size)
    return {"anyOf": [one, _list(one)]}


@_rule.register
def _(field: Numbers) -> Schema:
    return {"anyOf": [_one(field), _list(_one(field))]}


@_rule.register
def _(field: Gravity) -> Schema:
    return {"anyOf": [_one(field), _list(_one(field), 3)]}


@_rule.register
def _(field: Direction) -> Schema:
    return {"$ref": "#/$defs/direction"}


@_rule.register
def _(field: Orientation) -> Schema:
    one = _one(field)
    return {"anyOf": [_list(one, 4), _list(_list(one, 3), 3)]}


@_rule.register
def _(field: Inertia) -> Schema:
    one = _one(field)
    about_axis = {
        "type": "object",
        "properties": {"axis": {"$ref": "#/$defs/direction"}, "along": one, "across": one},
        "required": ["axis", "along", "across"],
        "additionalProperties": False,
    }
    return {"anyOf": [_list(one, 3), _list(one, 6), _list(_list(one, 3), 3), about_axis, *_solids()]}


def _solids() -> list[Schema]:
    """Homogeneous solids of the body's mass."""
    length, direction = _one(Quantity("", "m", "", POSITIVE)), {"$ref": "#/$defs/direction"}
    return [
        {
            "type": "object",
            "properties": {
                "solid": {"const": name},
                **{key: _list(length, 3) if key == "size" else length for key in needed},
                **{"axis": direction, "across": direction},
            },
            "required": ["solid", *needed, *(["axis"] if name == "rod" else [])],
            "additionalProperties": False,
        }
        for name, (needed, _) in SOLIDS.items()
    ]


@_rule.register
def _(field: Text) -> Schema:
    return {"type": "string"}


@_rule.register
def _(field: Choice) -> Schema:
    return {"enum": list(field.words)}


@_rule.register
def _(field: TypeOfJoint) -> Schema:
    return {"enum": list(TYPES)}


@_rule.register
def _(field: Reference) -> Schema:
    but = {"not": {"const": field.but}} if field.but else {}
    return {"type": "string", "pattern": rf"{NAME}|^$" if field.optional else NAME, **but}


@_rule.register
def _(field: References) -> Schema:
    return {"anyOf": [{"type": "string"}, _list({"type": "string"})]}


@_rule.register
def _(field: Flag) -> Schema:
    return {"type": "boolean"}


@_rule.register
def _(field: Names) -> Schema:
    return {
        "type": ["object", "null"],
        "propertyNames": {"pattern": NAME},
        "additionalProperties": {"type": "string"},
    }


@_rule.register
def _(field: PartField) -> Schema:
    fields = fields_of(field.described) | FORMS.get(field.described, {})
    names = {f.name_in_file or key: f for key, f in fields.items()}
    return {
        "type": "object",
        "properties": {key: _nullable(_field(f)) for key, f in names.items()},
        "additionalProperties": False,
    }
