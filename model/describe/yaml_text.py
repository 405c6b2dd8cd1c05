"""YAML as descriptions use it: safe to read, flaws told with file and line, and written the same way.

Text becomes a graph of nodes by ruamel.yaml's own parser, in Python throughout; this file makes plain
values of the nodes and never anything else, whatever tags they carry. Plain scalars follow YAML 1.2,
since the older rules surprise engineers: `010` is ten and not eight, `1:30` is no sexagesimal number,
`on` and `no` are words, and `1e-3` is a number.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import copy
from json import dumps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import AliasEvent
from ruamel.yaml.nodes import CollectionNode, MappingNode, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from ..errors import DescriptionError
from .flaws import Flaw, Place
from .units import number

Built = TypeVar("Built")
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


def text_of(path: Path) -> str:
    """The text of a description file, never more than the limit, even of an endless device."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            raise DescriptionError(f"{path} is larger than {LARGEST_FILE // 1_000_000} MB: no description")
        return content.decode("utf-8-sig")
    except OSError as error:
        raise DescriptionError(f"can't read '{path}': {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise DescriptionError(f"{path}: not YAML: the file is not text in UTF-8") from None


def built(text: str, file: str, build: Callable[[Any], Built]) -> Built:
    """What `build` makes of the parsed text; messages name the file, and the line where there is one."""
    lines: dict[Place, int] = {}
    try:
        parsed = parse(text)
        lines = parsed.lines
        return build(parsed.values)
    except Flaw as flaw:
        place = flaw.place
        while place and place not in lines:
            place = place[:-1]
        line = f", line {lines[place]}" if place else ""
        raise DescriptionError(f"{file}{line}: {flaw}") from None
    except DescriptionError as error:
        joiner = ", " if str(error).startswith("line ") else ": "
        raise DescriptionError(f"{file}{joiner}{error}") from None


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
    parsed = Parsed(None, {}, {})
    return parsed._replace(values=_value(node, (), parsed))


def _not_yaml(error: MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    line = f"line {mark.line + 1}: " if mark else ""
    if error.context and "expected a single document" in error.context:
        return f"{line}a second document starts here; put one mechanism in a file"
    return f"{line}not YAML: {error.problem or error.context}"


def _value(node: Any, place: Place, parsed: Parsed) -> Any:
    """The value of a node; counts them, since aliases can multiply a few lines without end."""
    line = node.start_mark.line + 1
    parsed.lines.setdefault(place, line)
    parsed.nodes[place] = node
    if len(parsed.nodes) > _MOST_VALUES or len(place) > _DEEPEST:
        raise DescriptionError(f"line {line}: aliases (*name) repeat too much; write the values out")
    tag = str(node.tag).removeprefix(_TAG)
    if isinstance(node, MappingNode) and tag == "map":
        return _mapping(node, place, parsed)
    if isinstance(node, SequenceNode) and tag == "seq":
        return [_value(item, (*place, str(k + 1)), parsed) for k, item in enumerate(node.value)]
    if isinstance(node, ScalarNode) and tag in _WORDS:
        return _scalar(tag, node.value)
    raise DescriptionError(f"line {line}: the tag '{node.tag}' is not used in descriptions; remove it")


def _mapping(node: Any, place: Place, parsed: Parsed) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, item in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, ScalarNode):
            raise DescriptionError(f"line {line}: a field's name must be a word, not a list or mapping")
        name = str(key.value)
        here = (*place, name)
        if name in result:
            twice = f"the field '{name}' is given twice; remove one"
            if len(place) == 1:
                twice = f"two {place[0]} are named '{name}'; rename one"
            raise DescriptionError(f"line {line}: {twice} (first in line {parsed.lines[here]})")
        parsed.lines[here] = line
        result[name] = _value(item, here, parsed)
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
