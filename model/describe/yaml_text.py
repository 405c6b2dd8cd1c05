"""YAML as descriptions use it: safe to read, with the place of every value, and written the same way.

Text becomes a graph of nodes by ruamel.yaml's own parser, in Python throughout; this file makes plain
values of the nodes and never anything else, whatever tags they carry. Plain scalars follow YAML 1.2,
since the older rules surprise engineers: `010` is ten and not eight, `1:30` is no sexagesimal number,
`on` and `no` are words, and `1e-3` is a number.
"""

from __future__ import annotations

import re
from copy import copy
from json import dumps
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import AliasEvent
from ruamel.yaml.nodes import CollectionNode, MappingNode, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from ..errors import DescriptionError
from .flaws import Place
from .units import number

LARGEST_FILE = 1_000_000  # bytes; a mechanism of a thousand bodies needs half of it
_DEEPEST = 20
_MOST_VALUES = 200_000
_TAG = "tag:yaml.org,2002:"
_PLAIN = re.compile(r"[A-Za-z_][\w.\[\]]*( [\w.\[\]()-]+,?)*", re.ASCII)
_ODD = re.compile("[\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")  # not to be seen, or not allowed
_WORDS = ("str", "int", "float", "bool", "null", "merge", "value", "timestamp")


class Parsed(NamedTuple):
    """What a text says. A place is the tuple of keys that leads to a value, list indices from "1"."""

    values: Any  # dict, list, str, float, bool, None
    lines: dict[Place, int]
    nodes: dict[Place, Any]  # where each value stands in the text


class _Composer(Composer):
    """Refuses what is too deep or too long for a description, before it is read to its end.

    An alias gets a node of its own, so that it has its own place in the text.
    """

    def __init__(self, loader: Any = None) -> None:
        super().__init__(loader)
        self.warn_double_anchors = False
        self.inside = self.count = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.parser.peek_event()
        self.inside, self.count = self.inside + 1, self.count + 1
        if self.inside > _DEEPEST or self.count > _MOST_VALUES:
            what = f"nested more than {_DEEPEST} deep" if self.inside > _DEEPEST else "too many values"
            raise DescriptionError(f"line {event.start_mark.line + 1}: {what}, which no description needs")
        node = super().compose_node(parent, index)
        self.inside -= 1
        if isinstance(event, AliasEvent):
            node = copy(node)
            node.start_mark, node.end_mark = event.start_mark, event.end_mark
            if isinstance(node, CollectionNode):
                node.flow_style = True  # it is one word on one line
        return node


def parse(text: str) -> Parsed:
    """The values in `text`, the line of each, and the nodes they were made of."""
    yaml = YAML(typ="safe", pure=True)
    yaml.Composer = _Composer
    try:
        node = yaml.compose(text)
    except MarkedYAMLError as error:
        raise DescriptionError(_not_yaml(error)) from None
    except ReaderError as error:
        code = ord(error.character) if isinstance(error.character, str) else error.character
        character = f"U+{code:04X} at position {error.position}"
        raise DescriptionError(f"not YAML: the character {character} is not allowed") from None
    if node is None:
        raise DescriptionError("the file is empty; it needs at least 'bodies' and 'joints'")
    return _Values().walk(node)


def _not_yaml(error: MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    line = f"line {mark.line + 1}: " if mark else ""
    if error.context and "expected a single document" in error.context:
        return f"{line}a second document starts here; put one mechanism in a file"
    return f"{line}not YAML: {error.problem or error.context}"


class _Values:
    """Turns nodes into values; counts them, since aliases can multiply a few lines without end."""

    def __init__(self) -> None:
        self.lines: dict[Place, int] = {}
        self.nodes: dict[Place, Any] = {}

    def walk(self, node: Any) -> Parsed:
        return Parsed(self.value(node, ()), self.lines, self.nodes)

    def value(self, node: Any, place: Place) -> Any:
        line = node.start_mark.line + 1
        self.lines.setdefault(place, line)
        self.nodes[place] = node
        if len(self.nodes) > _MOST_VALUES or len(place) > _DEEPEST:
            raise DescriptionError(f"line {line}: aliases (*name) repeat too much; write the values out")
        tag = str(node.tag).removeprefix(_TAG)
        if isinstance(node, MappingNode) and tag == "map":
            return self.mapping(node, place)
        if isinstance(node, SequenceNode) and tag == "seq":
            return [self.value(item, (*place, str(k + 1))) for k, item in enumerate(node.value)]
        if isinstance(node, ScalarNode) and tag in _WORDS:
            return _scalar(tag, node.value)
        raise DescriptionError(f"line {line}: the tag '{node.tag}' is not used in descriptions; remove it")

    def mapping(self, node: Any, place: Place) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, item in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, ScalarNode):
                raise DescriptionError(f"line {line}: a field's name must be a word, not a list or mapping")
            name = str(key.value)
            if name in result:
                first = self.lines[(*place, name)]
                raise DescriptionError(f"line {line}: {_twice(place, name)} (first in line {first})")
            self.lines[(*place, name)] = line
            result[name] = self.value(item, (*place, name))
        return result


def _scalar(tag: str, text: str) -> Any:
    """A number, a bool or None if the text is one in YAML 1.2, else the text itself."""
    if tag == "null":
        return None
    if tag == "bool" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if tag in ("int", "float") and "_" not in text:
        try:
            return float(re.sub(r"\.(?=[inIN])", "", text))  # .inf and .nan are inf and nan to Python
        except ValueError:
            return text
    return text


def _twice(place: Place, name: str) -> str:
    if len(place) == 1:
        return f"two {place[0]} are named '{name}'; rename one"
    return f"the field '{name}' is given twice; remove one"


# -- writing ------------------------------------------------------------------------------------


def dump(values: dict[str, Any], indent: str = "") -> str:
    """YAML text of plain values in the order given: a line for each field of each item of a group."""
    text = ""
    for key, value in values.items():
        nested = isinstance(value, dict) and len(indent) < 4
        text += f"{indent}{key}:" + ("\n" + dump(value, indent + "  ") if nested else f" {written(value)}\n")
    return text


def written(value: Any) -> str:
    """A value on one line; every number has the digits that give it back."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {written(x)}" for key, x in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(written(x) for x in value) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return number(value)
    if _PLAIN.fullmatch(value) and value.lower() not in ("true", "false", "null"):
        return value
    return _ODD.sub(lambda odd: f"\\u{ord(odd[0]):04x}", dumps(value, ensure_ascii=False))
