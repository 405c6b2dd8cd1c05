"""From a file's text to what it describes, every flaw told with file and line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ..errors import DescriptionError
from .flaws import Flaw
from .yaml_text import LARGEST_FILE, parse

Built = TypeVar("Built")


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
    lines: dict[tuple[str, ...], int] = {}
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
