"""Reading a mechanism from a description file; docs/describing.md lists every field.

With `axes: world`, positions, axes and centres of mass are as drawn at one pose. There every
body's frame has the world's axes, its origin is the centre of mass unless `origin` says
otherwise, and every joint coordinate is zero. With `axes: body`, they are in the bodies' axes.
"""

import os
import re
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

from ... import examples
from ..base.errors import DescriptionError
from .field_kinds import Group
from .fields import NEEDED, Around, defaults_of, fields_of
from .mapping_reader import Entries
from .mechanism import GROUND, ORIGIN, Mechanism
from .read_item import FORMS, Reading
from .shorthand import written_out
from .validation import nearest
from .yaml_text import build_from_text, parse, text_of

Check = Callable[[Mechanism], Mechanism]


def list_examples() -> dict[str, str]:
    """The mechanisms that ship: name, which `load` takes, and a line on what each is."""
    heads = {name: _example(name).partition("\nbodies:")[0] for name in example_names()}  # quicker to read
    return {name: str(parse(head).values["description"]) for name, head in heads.items()}


def example_names() -> list[str]:
    """What `load` takes by name."""
    files = resources.files(examples).iterdir()
    return sorted(f.name.removesuffix(".yaml") for f in files if f.name.endswith(".yaml"))


def _example(name: str) -> str:
    return resources.files(examples).joinpath(f"{name}.yaml").read_text(encoding="utf-8")


def load_with(source: str | os.PathLike[str], check: Check) -> Mechanism:
    """The mechanism of that name among the shipped examples, or in the file of that path."""
    return read_with(*source_of(source), check)


def source_of(source: str | os.PathLike[str]) -> tuple[str, str]:
    """The text behind the name of an example or the path of a file, and what messages call it."""
    text = os.fspath(source)
    if not isinstance(source, Path) and text in example_names():
        return _example(text), f"{text}.yaml"
    path = Path(text)
    if not path.exists():
        hint = nearest(path.stem, example_names()).replace("known:", "the examples are")
        raise DescriptionError(f"there is no example or file '{text}'; {hint}")
    if path.is_dir():
        raise DescriptionError(f"'{text}' is a folder; give the path of a description file in it")
    return text_of(path), text


def read_with(text: str, file: str, check: Check) -> Mechanism:
    """The mechanism described in `text`, if `check` lets it pass; messages name `file` and the line."""
    return build_from_text(text, file, lambda values: check(build(values, file)[0]))


def build(values: Any, file: str) -> tuple[Mechanism, Reading]:
    """The mechanism of parsed values, not checked yet, and where its bodies are drawn."""
    fields, defaults = fields_of(Mechanism), defaults_of(Mechanism)
    values = written_out(values)
    groups = {key: field for key, field in fields.items() if isinstance(field, Group)}
    files = [name for group in groups.values() for name in group.files]
    plain = {key: field for key, field in fields.items() if key not in groups}
    around = Around({"body": {GROUND: None}}, in_file=True)
    top = Entries(values, (), (*FORMS[Mechanism], *plain, *files), around)
    top.need(*(key for key in groups if defaults[key] is NEEDED))
    axes = top.read("axes", FORMS[Mechanism]["axes"], "world")
    for name in files:
        top.names(name)  # refuse what is no mapping before anything is built
    reading = Reading(axes == "world", around, {GROUND: ORIGIN})
    found: dict[str, Any] = {}
    for key, group in groups.items():
        items = [
            reading.item(group, file_name, name, entry)
            for file_name in group.files
            for name, entry in top.names(file_name).items()
        ]
        reading.around = reading.around.with_items(group.word, {item.name: item for item in items})
        found[key] = tuple(items)
    found |= {key: top.read(key, field, defaults[key]) for key, field in plain.items()}
    stem = re.sub(r"\W", "_", Path(file).stem, flags=re.ASCII)
    stem = f"_{stem}" if stem[:1].isdigit() else stem
    return Mechanism(top.read("name", FORMS[Mechanism]["name"], stem), (), ()).changed(**found), reading
