"""YAML as descriptions use it: safe to read, flaws told with file and line, and written the same way.

Text becomes events by libyaml, where it is installed; what it refuses is judged by ruamel.yaml's own
parser, which is some ten times slower and the same everywhere. This file makes plain values of the
events and never anything else, whatever tags they carry. Plain scalars follow YAML 1.2, since the
older rules surprise engineers: `010` is ten and not eight, `1:30` is no sexagesimal number, `on` and
`no` are words, and `1e-3` is a number.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from json import dumps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentStartEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
)
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.reader import ReaderError

from ..base.errors import DescriptionError
from ..base.units import shortest_text
from ..base.untrusted import read_text
from .validation import Flaw, Place

Built = TypeVar("Built")
LARGEST_FILE = 1_000_000  # bytes; a mechanism of a thousand bodies needs half of it
_DEEPEST = 20
_MOST_VALUES = 200_000
_TAG = "tag:yaml.org,2002:"
_PLAIN = re.compile(r"[A-Za-z_][\w.\[\]]*( [\w.\[\]()-]+,?)*", re.ASCII)
_ODD = re.compile("[\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")  # not to be seen, or not allowed
_WORDS = ("str", "int", "float", "bool", "null", "merge", "value", "timestamp")


class Spot(NamedTuple):
    """Where a value stands in the text."""

    line: int  # of its field's name, where it has one
    start: int
    end: int  # of a block, where its last value ends
    last: int | None = None  # where the last value of a mapping ends; None if there is none
    column: int | None = None  # of the fields of a mapping in block style


class Parsed(NamedTuple):
    """What a text says. A place is the tuple of keys that leads to a value, list indices from "1"."""

    values: Any  # dict, list, str, float, bool, None
    spots: dict[Place, Spot]


def text_of(path: Path) -> str:
    """The text of a description file."""
    return read_text(path, LARGEST_FILE, form="YAML")


def build_from_text(text: str, file: str, build: Callable[[Any], Built]) -> Built:
    """What `build` makes of the parsed text; messages name the file, and the line where there is one."""
    spots: dict[Place, Spot] = {}
    try:
        values, spots = parse(text)
        return build(values)
    except Flaw as flaw:
        place = flaw.place
        while place and place not in spots:
            place = place[:-1]
        line = f", line {spots[place].line}" if place else ""
        raise DescriptionError(f"{file}{line}: {flaw}") from None
    except DescriptionError as error:
        joiner = ", " if str(error).startswith("line ") else ": "
        raise DescriptionError(f"{file}{joiner}{error}") from None


def parse(text: str, values: "type[Values] | None" = None) -> Parsed:
    """The values in `text`, and where each stands."""
    values = values or Values
    try:
        with suppress(YAMLError):
            return values(text, pure=False).parsed()
        return values(text, pure=True).parsed()
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}: " if mark else ""
        raise DescriptionError(f"{line}not YAML: {error.problem or error.context}") from None
    except ReaderError as error:
        code = ord(error.character) if isinstance(error.character, str) else error.character
        character = f"U+{code:04X} at position {error.position}"
        raise DescriptionError(f"not YAML: the character {character} is not allowed") from None


class Values:
    """Plain values of the events of a text, made as they come; what no description needs ends it early."""

    def __init__(self, text: str, pure: bool) -> None:
        yaml = YAML(typ="safe", pure=pure)
        self.events, self.resolve = yaml.parse(text), yaml.resolver.resolve
        self.spots: dict[Place, Spot] = {}
        self.anchors: dict[str, tuple[Any, int]] = {}  # values and how many are in them, 0 while unfinished
        self.count = 0

    def parsed(self) -> Parsed:
        """What the one document of the text says."""
        first = next((event for event in self.events if isinstance(event, NodeEvent)), None)
        if first is None:
            raise DescriptionError("the file is empty; it needs at least 'bodies' and 'joints'")
        values = self.value(first, (), first.start_mark.line + 1)
        for event in self.events:
            if isinstance(event, DocumentStartEvent):
                raise _flaw(event, "a second document starts here; put one mechanism in a file")
        return Parsed(values, self.spots)

    def value(self, event: Any, place: Place, line: int) -> Any:
        """The value that starts with this event; `line` is that of its field's name, if it has one."""
        before = self.count
        self.count += 1
        if len(place) >= _DEEPEST:
            raise _flaw(event, f"nested more than {_DEEPEST} deep, which no description needs")
        if before >= _MOST_VALUES:
            raise _flaw(event, "too many values, which no description needs")
        self.spots[place] = Spot(line, event.start_mark.index, event.end_mark.index)
        if isinstance(event, AliasEvent):
            return self.repeated(event)
        self.anchors[event.anchor] = None, 0
        value = self.scalar(event) if isinstance(event, ScalarEvent) else self.collection(event, place)
        self.anchors[event.anchor] = value, self.count - before
        return value

    def repeated(self, alias: Any) -> Any:
        """The value of an anchor; counted again, since aliases can multiply a few lines without end."""
        if alias.anchor not in self.anchors:
            raise _flaw(alias, f"not YAML: found undefined alias '{alias.anchor}'")
        value, size = self.anchors[alias.anchor]
        self.count += size
        if not size or self.count > _MOST_VALUES:
            raise _flaw(alias, "aliases (*name) repeat too much; write the values out")
        return value

    def scalar(self, event: Any) -> Any:
        """A number, a bool or None if the text is one in YAML 1.2, else the text itself."""
        tag, text = event.tag, event.value
        if tag in (None, "!"):
            tag = self.resolve(ScalarNode, text, event.implicit)
        tag = str(tag).removeprefix(_TAG)
        if tag not in _WORDS:
            raise _flaw(event, f"the tag '{tag}' is not used in descriptions; remove it")
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

    def collection(self, event: Any, place: Place) -> Any:
        """A mapping or a list."""
        mapping = isinstance(event, MappingStartEvent)
        if event.tag not in (None, "!", _TAG + ("map" if mapping else "seq")):
            raise _flaw(event, f"the tag '{event.tag}' is not used in descriptions; remove it")
        found: dict[str, Any] = {}
        last = column = None
        while not isinstance(item := next(self.events), CollectionEndEvent):
            key, line = str(len(found) + 1), item.start_mark.line + 1
            if mapping:
                key = self.new_name(item, place)
                column = item.start_mark.column if last is None else column
                item = next(self.events)
            inside = (*place, key)
            found[key] = self.value(item, inside, line)
            last = self.spots[inside].end
        flow = bool(event.flow_style)
        end = item.end_mark.index if flow or last is None else last
        spot = self.spots[place]._replace(end=end)
        self.spots[place] = spot._replace(last=last, column=None if flow else column) if mapping else spot
        return found if mapping else list(found.values())

    def new_name(self, event: Any, place: Place) -> str:
        """The name of a field of the mapping at `place`."""
        if not isinstance(event, ScalarEvent):
            raise _flaw(event, "a field's name must be a word, not a list or mapping")
        name = str(event.value)
        if first := self.spots.get((*place, name)):
            twice = f"two {place[0]} are named '{name}'; rename one" if len(place) == 1 else ""
            twice = twice or f"the field '{name}' is given twice; remove one"
            raise _flaw(event, f"{twice} (first in line {first.line})")
        return name


def _flaw(event: Any, sentence: str) -> DescriptionError:
    return DescriptionError(f"line {event.start_mark.line + 1}: {sentence}")


# -- writing ------------------------------------------------------------------------------------


def dump(values: dict[str, Any], indent: str = "") -> str:
    """YAML text of plain values in the order given: a line for each field of each item of a group."""
    text = ""
    for key, value in values.items():
        nested = isinstance(value, dict) and len(indent) < 4
        text += f"{indent}{key}:" + (
            "\n" + dump(value, indent + "  ") if nested else f" {write_value(value)}\n"
        )
    return text


def write_value(value: Any) -> str:
    """A value on one line; every number has the digits that give it back."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {write_value(x)}" for key, x in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(write_value(x) for x in value) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return shortest_text(value)
    if _PLAIN.fullmatch(value) and value.lower() not in ("true", "false", "null"):
        return value
    return _ODD.sub(lambda odd: f"\\u{ord(odd[0]):04x}", dumps(value, ensure_ascii=False))
