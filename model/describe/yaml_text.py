"""YAML as descriptions use it: safe to read, with line numbers, and written the same way.

Plain scalars follow YAML 1.2, since the older rules surprise engineers: `010` is ten and not
eight, `1:30` is no sexagesimal number, `on` and `no` are words, and `1e-3` is a number.
"""

from __future__ import annotations

import re
from math import isinf, isnan
from typing import Any

import yaml

from ..errors import DescriptionError
from .flaws import Place

LARGEST_FILE = 1_000_000  # bytes; a mechanism of a thousand bodies needs half of it
_DEEPEST = 20
_MOST_VALUES = 200_000
_TAG = "tag:yaml.org,2002:"
_RESOLVERS: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
for _name, _pattern, _first in (
    ("bool", r"true|false", "tf"),
    ("null", r"~|null|", ["~", "n", ""]),
    (
        "float",
        r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        "-+.0123456789",
    ),
):
    for _character in _first:
        _RESOLVERS.setdefault(_character, []).append((_TAG + _name, re.compile(f"(?:{_pattern})\\Z")))


class _Loader(yaml.SafeLoader):
    """Builds the graph of nodes only; it is turned into plain values below, without tags."""

    yaml_implicit_resolvers = _RESOLVERS
    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise DescriptionError(
                f"line {self.peek_event().start_mark.line + 1}: nested more than {_DEEPEST} deep, "
                "which no description needs"
            )
        node = super().compose_node(parent, index)  # type: ignore[no-untyped-call]
        self.depth -= 1
        return node


def parse(text: str) -> tuple[Any, dict[Place, int]]:
    """The values in `text` (dict, list, str, float, bool, None), and the line of each place.

    A place is the tuple of keys that leads to a value, list indices counted from "1".
    """
    loader = None
    try:
        loader = _Loader(text)  # the reader already refuses control characters here
        node = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        raise DescriptionError(_not_yaml(error)) from None
    except yaml.reader.ReaderError as error:
        code = ord(error.character) if isinstance(error.character, str) else error.character
        character = f"U+{code:04X} at position {error.position}"
        raise DescriptionError(f"not YAML: the character {character} is not allowed") from None
    finally:
        if loader is not None:
            loader.dispose()  # type: ignore[no-untyped-call]
    if node is None:
        raise DescriptionError("the file is empty; it needs at least 'bodies' and 'joints'")
    return _Values().walk(node)


def _not_yaml(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    line = f"line {mark.line + 1}: " if mark else ""
    if error.context and "expected a single document" in error.context:
        return f"{line}a second document starts here; put one mechanism in a file"
    return f"{line}not YAML: {error.problem or error.context}"


class _Values:
    """Turns nodes into values; counts them, since aliases can multiply a few lines without end."""

    def __init__(self) -> None:
        self.lines: dict[Place, int] = {}
        self.count = 0

    def walk(self, node: Any) -> tuple[Any, dict[Place, int]]:
        return self.value(node, ()), self.lines

    def value(self, node: Any, place: Place) -> Any:
        line = node.start_mark.line + 1
        self.lines.setdefault(place, line)
        self.count += 1
        if self.count > _MOST_VALUES or len(place) > _DEEPEST:
            raise DescriptionError(f"line {line}: aliases (*name) repeat too much; write the values out")
        tag = str(node.tag).removeprefix(_TAG)
        if isinstance(node, yaml.MappingNode) and tag == "map":
            return self.mapping(node, place)
        if isinstance(node, yaml.SequenceNode) and tag == "seq":
            return [self.value(item, (*place, str(k + 1))) for k, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode) and tag in _SCALARS:
            try:
                return _SCALARS[tag](node.value)
            except ValueError:
                raise DescriptionError(f"line {line}: '{node.value}' does not fit its tag !!{tag}") from None
        raise DescriptionError(f"line {line}: the tag '{node.tag}' is not used in descriptions; remove it")

    def mapping(self, node: Any, place: Place) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, item in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise DescriptionError(f"line {line}: a field's name must be a word, not a list or mapping")
            name = str(key.value)
            if name in result:
                first = self.lines[(*place, name)]
                raise DescriptionError(f"line {line}: {_twice(place, name)} (first in line {first})")
            self.lines[(*place, name)] = line
            result[name] = self.value(item, (*place, name))
        return result


def _twice(place: Place, name: str) -> str:
    if len(place) == 1:
        return f"two {place[0]} are named '{name}'; rename one"
    return f"the field '{name}' is given twice; remove one"


_SCALARS: dict[str, Any] = {
    "str": str,
    "float": lambda text: float(text.lower().replace(".inf", "inf").replace(".nan", "nan")),
    "int": float,
    "bool": lambda text: text == "true",
    "null": lambda text: None,
}


class _Dumper(yaml.SafeDumper):
    """Writes every number with the digits that give it back, and lists on one line."""

    yaml_implicit_resolvers = _RESOLVERS

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _float(dumper: Any, x: float) -> Any:
    text = ".nan" if isnan(x) else ("-.inf" if x < 0 else ".inf") if isinf(x) else repr(x).removesuffix(".0")
    return dumper.represent_scalar(_TAG + "float", text)


def _text(dumper: Any, text: str) -> Any:
    # The block style would turn these rarer line breaks into plain ones.
    style = '"' if re.search("[\r\x85\u2028\u2029]", text) else "|" if "\n" in text.strip("\n") else None
    return dumper.represent_scalar(_TAG + "str", text, style=style)


def _list(dumper: Any, items: list[Any]) -> Any:
    return dumper.represent_sequence(_TAG + "seq", items, flow_style=True)


_Dumper.add_representer(float, _float)
_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _list)


def dump(values: dict[str, Any]) -> str:
    """YAML text of plain values (dict, list, str, float, bool), in the order given."""
    text: str = yaml.dump(
        values, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=150, default_flow_style=False
    )
    return text
