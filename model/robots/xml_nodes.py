"""XML of robots, read safely: no entities, no document types, nothing outside the file, nothing endless.

Robots come from strangers. expat would expand entities and tell us of document types; both are refused when
they start, so that nothing is ever expanded or fetched. Elements know their line, and every complaint names
file, line and what to write instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat

from ..base.errors import CutjointError, DescriptionError
from ..base.untrusted import NO_DOCTYPE, find_inside, read_bytes

LARGEST_FILE = 10_000_000  # bytes; a humanoid with all its shapes needs a tenth of it
DEEPEST = 100
MOST_NODES = 200_000


@dataclass
class Node:
    """An element: its tag without namespace prefix rules, attributes, text, children and line."""

    tag: str
    attributes: dict[str, str]
    line: int
    file: str
    content: list[Node | str] = field(default_factory=list)  # elements and text between them

    @property
    def children(self) -> list[Node]:
        return [part for part in self.content if isinstance(part, Node)]

    def __iter__(self) -> Iterator[Node]:
        return iter(self.children)

    def all(self, tag: str) -> list[Node]:
        return [child for child in self.children if child.tag == tag]

    def find(self, tag: str) -> Node | None:
        """The first child of that tag, or the one at the end of a path such as `inertial/mass`."""
        first, _, rest = tag.partition("/")
        found = next((child for child in self.children if child.tag == first), None)
        return found.find(rest) if found is not None and rest else found

    def need(self, tag: str) -> Node:
        found = self.find(tag)
        if found is None:
            self.refuse(f"<{self.tag}>{self._named} needs a <{tag}>")
        return found

    def get(self, key: str, default: str = "") -> str:
        return self.attributes.get(key, default).strip()

    def name(self, key: str = "name") -> str:
        """An attribute that must be there and not be empty."""
        if not self.get(key):
            self.refuse(f"<{self.tag}>{self._named} needs the attribute '{key}'")
        return self.get(key)

    @property
    def text(self) -> str:
        return "".join(part for part in self.content if isinstance(part, str)).strip()

    def text_of(self, tag: str, default: str = "") -> str:
        """The text of a child, as SDF writes its values."""
        found = self.find(tag)
        return default if found is None else found.text

    def numbers(self, text: str, count: int, what: str) -> tuple[float, ...]:
        """Finite numbers between blanks."""
        words = text.split()
        try:
            values = tuple(float(word) for word in words)
        except ValueError:
            values = ()
        if len(values) != count or not all(map(isfinite, values)) or "_" in text:
            shown = f"'{text}'" if len(text) < 60 else f"'{text[:57]}...'"
            many = "a number" if count == 1 else f"{count} numbers"
            self.refuse(f"{what} of <{self.tag}>{self._named} must be {many}, not {shown}")
        return values

    def vector(self, key: str, default: tuple[float, ...]) -> tuple[float, ...]:
        """The numbers in an attribute, as many as the default has."""
        return self.numbers(self.get(key), len(default), f"'{key}'") if self.get(key) else default

    def number(self, key: str, default: float | None = None) -> float:
        if default is None or self.get(key):
            return self.numbers(self.name(key), 1, f"'{key}'")[0]
        return default

    def number_in(self, tag: str, default: float) -> float:
        """The number that is a child's text; infinite ones and −1e16 for none are kept as they are."""
        text = self.text_of(tag)
        if not text:
            return default
        if text.lower().lstrip("+-") in ("inf", "infinity"):
            return float(text)
        return self.numbers(text.strip('"'), 1, f"<{tag}>")[0]  # Gazebo overlooks a stray quote

    def vector_in(self, tag: str, default: tuple[float, ...]) -> tuple[float, ...]:
        text = self.text_of(tag)
        return self.numbers(text, len(default), f"<{tag}>") if text else default

    @property
    def _named(self) -> str:
        return f" '{self.get('name')}'" if self.get("name") else ""

    def refuse(self, sentence: str) -> NoReturn:
        raise DescriptionError(f"{self.file}, line {self.line}: {sentence}")


def read_xml(path: Path) -> Node:
    """The root element of a file."""
    return parse_xml(read_bytes(path, LARGEST_FILE), str(path))


def parse_xml(content: bytes, file: str) -> Node:
    """The root element of a text."""
    if len(content) > LARGEST_FILE:
        raise DescriptionError(f"{file} is larger than {LARGEST_FILE // 1_000_000} MB: no description")
    parser = expat.ParserCreate()
    top: list[Node | str] = []
    stack: list[Node] = []
    count = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        node = Node(tag, attributes, parser.CurrentLineNumber, file)
        if len(stack) >= DEEPEST or count > MOST_NODES:
            node.refuse("nested too deep or too many elements, which no robot needs")
        (stack[-1].content if stack else top).append(node)
        stack.append(node)

    def end(_: str) -> None:
        stack.pop()

    def words(text: str) -> None:
        stack[-1].content.append(text)

    def refuse(*_: Any) -> NoReturn:
        raise DescriptionError(f"{file}, line {parser.CurrentLineNumber}: {NO_DOCTYPE}")

    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = words
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = parser.ExternalEntityRefHandler = refuse
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        what = expat.ErrorString(error.code)
        raise DescriptionError(f"{file}, line {error.lineno}: not XML: {what}") from None
    except (LookupError, ValueError) as error:  # an encoding that Python or expat does not know
        raise DescriptionError(f"{file}: not XML: {error}") from None
    return next(node for node in top if isinstance(node, Node))


def inside(path: str, folders: Iterable[Path], node: Node) -> Path:
    """A file that another one names, refused unless it lies in one of these folders."""
    try:
        return find_inside(path, folders)
    except CutjointError as error:
        node.refuse(str(error))
