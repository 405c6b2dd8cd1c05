"""What expressions of xacro files may be made of: values within limits, functions, methods and operators.

Every function that could make much out of little is measured before or while it works.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

DEEPEST = 60  # operations in one another, and lists in one another
LARGEST_VALUE = 100_000  # characters, or items with all that is in them
LARGEST_INTEGER = 2_048  # bits
LONGEST_RANGE = 10_000
MOST_HASHED = 1_000  # items of a set or a dictionary that an expression makes
MOST_STEPS = 3_000_000  # of a file with all that it includes; the public robots need up to 210,000


class ExpressionError(Exception):
    """An expression that has no value; `beyond` if the xacro package might find one."""

    def __init__(self, sentence: str, beyond: bool = False):
        super().__init__(sentence)
        self.beyond = beyond


def beyond(sentence: str) -> NoReturn:
    raise ExpressionError(sentence, beyond=True)


class Budget:
    """The steps that are left for a file."""

    def __init__(self, steps: int = MOST_STEPS):
        self.steps = steps

    def spend(self, steps: int) -> None:
        self.steps -= steps
        if self.steps < 0:
            beyond("takes more steps than any robot needs")


class Namespace:
    """Names behind a dot, such as those of `math`."""

    def __init__(self, names: Mapping[str, Any]):
        self.names = names

    def look_up(self, name: str) -> Any:
        """The value of a name; KeyError if there is none."""
        return self.names[name]


@dataclass(frozen=True)
class Function:
    """What may be called; `kind` where it is a type, for `isinstance`, `owner` where it is a method.

    `takes_functions`: it calls, or only looks at, functions that it is given.
    """

    name: str
    call: Callable[..., Any]
    kind: type | None = None
    takes_functions: bool = False
    owner: Any = None


class Dotted(dict[str, Any]):
    """A dictionary whose items may be read as attributes, as xacro makes them of YAML."""


def dotted(value: Any) -> Any:
    """The same with every dictionary in it `Dotted`."""
    if isinstance(value, dict):
        return Dotted({key: dotted(x) for key, x in value.items()})
    return [dotted(x) for x in value] if isinstance(value, list) else value


def measure(value: Any, depth: int = 0) -> int:
    """The size of a value as it would be written out; what is of no plain type or too large is refused."""
    if depth > DEEPEST:
        beyond("gives lists that are nested too deep")
    if isinstance(value, str):
        size = 1 + len(value)
    elif isinstance(value, int):
        size = 1 + value.bit_length() // 3  # digits
        size = size if value.bit_length() <= LARGEST_INTEGER else LARGEST_VALUE + 1
    elif isinstance(value, range):
        size = 1 + len(value)  # as much work as a list of it
    elif value is None or isinstance(value, float | Namespace | Function):
        return 1
    elif isinstance(value, list | tuple | set | dict):
        parts = value if not isinstance(value, dict) else (*value.keys(), *value.values())
        size = 1
        for part in parts:
            size += measure(part, depth + 1)
            if size > LARGEST_VALUE:
                break
    else:
        beyond(f"gives a {type(value).__name__}")
    if size > LARGEST_VALUE:
        beyond("gives a value that is too large")
    return size


def holds_function(value: Any) -> bool:
    """Whether there is anything in a value that has no text of its own."""
    if isinstance(value, list | tuple | set):
        return any(map(holds_function, value))
    if isinstance(value, dict):
        return any(map(holds_function, (*value.keys(), *value.values())))
    return isinstance(value, Namespace | Function)


# -- functions ----------------------------------------------------------------------------------------


def _range(*limits: int) -> range:
    if len(made := range(*limits)) > LONGEST_RANGE:
        beyond("counts too far")
    return made


def _round(number: float, digits: int | None = None) -> float:
    if digits is not None and abs(digits) > 400:
        beyond("rounds to too many digits")
    return round(number, digits)


def _mapped(function: Function, *lists: Iterable[Any]) -> list[Any]:
    made: list[Any] = []
    size = 0
    for items in zip(*lists, strict=False):
        made.append(function.call(*items))
        size += measure(made[-1])
        if size > LARGEST_VALUE:
            beyond("gives a value that is too large")
    return made


def _hashed(make: Callable[[Any], Any]) -> Callable[..., Any]:
    """A set or dictionary of few items: many that share a hash take the square of their number."""

    def made(items: Iterable[Any] = (), **named: Any) -> Any:
        items = items if isinstance(items, dict) else list(items)
        if len(items) > MOST_HASHED:
            beyond("gives a set or dictionary that is too large")
        return make(items) | named if named else make(items)

    return made


def _total(numbers: Iterable[float], start: float = 0) -> float:
    numbers = list(numbers)
    if not all(isinstance(x, int | float) for x in (*numbers, start)):
        beyond("sums what are no numbers")
    return sum(numbers, start)


def _filtered(function: Function | None, items: Iterable[Any]) -> list[Any]:
    return [x for x in items if (x if function is None else function.call(x))]


def _is_instance(value: Any, kinds: Any) -> bool:
    wanted = kinds if isinstance(kinds, tuple) else (kinds,)
    return isinstance(value, tuple(f.kind for f in wanted if isinstance(f, Function) and f.kind))


def _listed(make: Callable[..., Iterable[Any]]) -> Callable[..., list[Any]]:
    return lambda *given, **named: list(make(*given, **named))


def _functions(**calls: Callable[..., Any]) -> dict[str, Function]:
    return {name: Function(name, f, f if isinstance(f, type) else None) for name, f in calls.items()}


_TYPES = _functions(list=list, str=str, float=float, int=int, bool=bool) | {
    "dict": Function("dict", _hashed(dict), dict)
}
_COMMON = _functions(len=len, min=min, max=max, round=_round, range=_range, sorted=sorted) | {
    "map": Function("map", _mapped, takes_functions=True)
}
_PYTHON = _functions(
    abs=abs, all=all, any=any, divmod=divmod, ord=ord, repr=repr, sum=_total, tuple=tuple
) | {
    "set": Function("set", _hashed(set), set),
    **_functions(enumerate=_listed(enumerate), zip=_listed(zip), reversed=_listed(reversed)),
    "filter": Function("filter", _filtered, takes_functions=True),
    "isinstance": Function("isinstance", _is_instance, takes_functions=True),
}
GROWING = ("factorial", "comb", "perm", "prod")  # of `math`: large out of small
MATH = {
    name: Function(name, value) if callable(value) else value
    for name, value in vars(math).items()
    if name[0] != "_" and name not in GROWING
}
TRUTH = {"True": True, "False": False}
SYMBOLS: dict[str, Any] = {
    **(MATH | _TYPES | _COMMON | TRUTH),
    "math": Namespace(MATH),
    "python": Namespace(_TYPES | _COMMON | _PYTHON | TRUTH),
}
LAUNCH_SYMBOLS: dict[str, Any] = {**MATH, **_TYPES, **TRUTH, "true": True, "false": False}  # of $(eval ...)

_METHODS: dict[type, tuple[str, ...]] = {
    str: (
        *("upper", "lower", "title", "capitalize", "strip", "lstrip", "rstrip", "split", "rsplit"),
        *("splitlines", "partition", "rpartition", "startswith", "endswith", "removeprefix", "removesuffix"),
        *("find", "rfind", "index", "count", "replace", "join", "isdigit", "isalpha", "isalnum", "isspace"),
    ),
    list: ("index", "count", "copy", "pop", "append", "extend", "insert", "remove"),
    tuple: ("index", "count"),
    dict: ("get", "keys", "values", "items", "copy"),
}


def method_of(value: Any, name: str) -> Function | None:
    kind = next((k for k in _METHODS if isinstance(value, k)), None)
    if kind is None or name not in _METHODS[kind]:
        return None
    bound = getattr(value, name)
    if kind is dict and name in ("keys", "values", "items"):
        bound = _listed(bound)
    elif name == "replace":
        bound = partial(_replaced, value)
    elif name == "join":
        bound = partial(_joined, value)
    return Function(name, bound, owner=value)


def _replaced(text: str, old: str, new: str, *count: int) -> str:
    if text.count(old) * len(new) > LARGEST_VALUE:
        beyond("gives a value that is too large")
    return text.replace(old, new, *count)


def _joined(text: str, parts: Iterable[Any]) -> str:
    parts = list(parts)
    if len(text) * len(parts) > LARGEST_VALUE:
        beyond("gives a value that is too large")
    return text.join(parts)


# -- operators ----------------------------------------------------------------------------------------


def _power(base: Any, exponent: Any) -> Any:
    whole = isinstance(base, int) and isinstance(exponent, int) and abs(base) > 1
    if whole and base.bit_length() * exponent > LARGEST_INTEGER:
        beyond("gives a number that is too large")
    return base**exponent


def _product(a: Any, b: Any) -> Any:
    for times, what in ((a, b), (b, a)):
        repeated = isinstance(times, int) and not isinstance(what, int | float)
        if repeated and times * measure(what) > LARGEST_VALUE:
            beyond("gives a value that is too large")
    return a * b


_FORMAT = re.compile(r"%[-+ #0]*\d{0,2}(?:\.\d{0,2})?[diouxXeEfFgGcrsa%]")


def _remainder(a: Any, b: Any) -> Any:
    if isinstance(a, str) and "%" in _FORMAT.sub("", a):
        beyond("formats in a way that is not known here")
    return a % b


OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    **{ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: _product, ast.Div: operator.truediv},
    **{ast.FloorDiv: operator.floordiv, ast.Mod: _remainder, ast.Pow: _power},
    **{ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor},
    **{ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le},
    **{ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not},
    **{ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b},
}
SIGNS: dict[type, Callable[[Any], Any]] = {
    **{ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_, ast.Invert: operator.invert}
}
