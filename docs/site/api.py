"""Writes docs/api.md: every public name with its arguments and its docstring.

python docs/site/api.py docs/api.md

Names, their order and the headings come from `__init__.pyi`, the table of public names; texts from the
docstrings. Examples of docstrings stand there as code that the tests run.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

import cutjoint

HEAD = """# Reference

Everything here is imported from `cutjoint`: `from cutjoint import Simulation, hold`. Units are SI: metres,
kilograms, seconds, radians, newtons. `make api` writes this page from the docstrings.
"""
LISTED = re.compile(r"^([\w*]+(?:, [\w*]+)*) : ")  # an argument in a docstring
SKIPPED = ("Packages",)  # folders, which docs/architecture.md describes


def sections() -> dict[str, list[str]]:
    """Heading -> public names, as the table of names has them."""
    found: dict[str, list[str]] = {}
    title = ""
    for line in Path(cutjoint.__file__).with_name("__init__.pyi").read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            title = line[2:]
        elif line.startswith("from "):
            names = [item.partition(" as ")[2] for item in line.partition(" import ")[2].split(", ")]
            found.setdefault(title, []).extend(names)
    return {title: names for title, names in found.items() if title not in SKIPPED}


def public() -> dict[str, Any]:
    """Public name -> what it is."""
    return {name: getattr(cutjoint, name) for names in sections().values() for name in names}


def documented() -> Iterator[tuple[str, Any]]:
    """(name, object) of all that the page describes: public names, those of public modules, and methods."""
    for name, item in public().items():
        yield name, item
        for part, value in parts(item):
            yield f"{name}.{part}", value


def parts(item: Any) -> list[tuple[str, Any]]:
    """What a public module offers, or the public methods and properties of a class of ours."""
    if isinstance(item, ModuleType):
        return [(name, getattr(item, name)) for name in item.__all__]
    if not inspect.isclass(item):
        return []
    found: dict[str, Any] = {}
    elsewhere = {kind for base in item.__mro__[1:] if base in public().values() for kind in base.__mro__}
    for kind in (kind for kind in _ours(item) if kind not in elsewhere):
        for name, value in vars(kind).items():
            plain = value.__func__ if isinstance(value, staticmethod | classmethod) else value
            if not name.startswith("_") and (inspect.isfunction(plain) or isinstance(plain, property)):
                found[name] = plain
    chosen = re.search(r"^Methods\n-+\n([\w,\s]+?)(?:\n\n|$)", text_of(item), flags=re.M)
    names = re.findall(r"\w+", chosen[1]) if chosen else found
    return [(name, found[name]) for name in names]


def _ours(item: Any) -> list[type]:
    """A class and those of ours that it is made of, base first."""
    return [kind for kind in reversed(item.__mro__) if kind.__module__.startswith("cutjoint")]


def signature(name: str, item: Any) -> str:
    """A call as one writes it: arguments and defaults, without types."""
    if isinstance(item, property | ModuleType) or not callable(item):
        return name
    if inspect.isclass(item) and issubclass(item, Exception):
        return name
    try:
        given = inspect.signature(item).parameters.values()
    except ValueError:
        return name
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in given if p.name != "self"]
    plain = [p if p.default in (p.empty, None) else p.replace(default=_Shown(p.default)) for p in plain]
    return f"{name}{inspect.Signature(plain)}"


class _Shown:
    """A default as the page shows it."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        text = repr(self.value)
        return "…" if text.startswith("<") or len(text) > 30 else text


def fields(item: Any) -> dict[str, str]:
    """Field -> what it is, of a dataclass or named tuple: the help it is defined with, or its comment."""
    if not inspect.isclass(item) or not (dataclasses.is_dataclass(item) or hasattr(item, "_fields")):
        return {}
    found: dict[str, str] = {}
    for kind in _ours(item):
        comments = dict(re.findall(r"^    (\w+): [^#\n]*# (.+)$", inspect.getsource(kind), flags=re.M))
        hints = get_type_hints(kind, include_extras=True)
        for name in vars(kind).get("__annotations__", {}):
            help_ = next((x for x in getattr(hints[name], "__metadata__", ()) if hasattr(x, "help")), None)
            unit = getattr(help_, "unit", "1") if help_ else "1"
            said = f"{help_.help}, {unit}" if help_ and unit not in ("", "1") else getattr(help_, "help", "")
            found[name] = said or comments.get(name, "")
    names = getattr(item, "_fields", None) or [f.name for f in dataclasses.fields(item)]
    return {name: found[name] for name in names if not name.startswith("_")}


def text_of(item: Any) -> str:
    """The docstring of an item itself; a dataclass without one has none, whatever Python puts there."""
    own = item.__doc__ if not inspect.isclass(item) else vars(item).get("__doc__")
    generated = dataclasses.is_dataclass(item) and (own or "").startswith(f"{getattr(item, '__name__', '')}(")
    return "" if not own or generated else inspect.cleandoc(own)


def markdown(text: str) -> str:
    """A docstring as Markdown: lists of arguments, headings of sections, examples as code."""
    lines: list[str] = []
    code = False
    given = re.sub(r"\n\nMethods\n-+\n[\w,\s]+?(?=\n\n|$)", "", text).split("\n")
    for line, following in zip(given, [*given[1:], ""], strict=True):
        prompt = line.startswith((">>> ", "... "))
        if prompt != code:
            lines.append("```python" if prompt else "```")
            code = prompt
            if not prompt and line:
                continue  # what the example prints
        if prompt:
            lines.append(line[4:])
        elif following and set(following) == {"-"}:
            lines += [f"**{line}**", ""]
        elif not (line and set(line) == {"-"}):
            listed = LISTED.match(line)
            names = ", ".join(f"`{name}`" for name in listed[1].split(", ")) if listed else ""
            lines.append(f"- {names}: {line[listed.end() :]}" if listed else line.replace("<", "&lt;"))
    return "\n".join([*lines, "```"] if code else lines)


def undocumented() -> list[str]:
    """Public names without a docstring, and arguments and fields that none explains."""
    missing = []
    for name, item in documented():
        whole = text_of(public()[name.partition(".")[0]])  # a class may say it once for its methods
        known, named = fields(item), text_of(item) + (whole if "." in name else "")
        if not text_of(item):
            missing.append(f"{name} has no docstring")
        elif callable(item) and not (inspect.isclass(item) and issubclass(item, Exception)):
            given = [p for p in inspect.signature(item).parameters if p not in ("self", "args", "kwargs")]
            missing += [
                f"{name}: what is '{p}'?"
                for p in given
                if not known.get(p) and not re.search(rf"\b{p}\b", named)
            ]
    return missing


def page() -> str:
    """The whole page."""
    lines = [HEAD]
    for title, names in sections().items():
        lines += [f"## {title}", ""]
        for name in names:
            item = getattr(cutjoint, name)
            lines += [f"### {name}", ""]
            if signature(name, item) != name:
                lines += [f"`{signature(name, item)}`", ""]
            lines += [markdown(text_of(item)), ""]
            listed = {name: text for name, text in fields(item).items() if text}
            lines += [*(f"- `{name}`: {text}" for name, text in listed.items()), ""] if listed else []
            for part, value in parts(item):
                lines += [f"**`{signature(part, value)}`**", "", markdown(text_of(value)), ""]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
