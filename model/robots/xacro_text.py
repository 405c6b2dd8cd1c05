"""Text of xacro files: `${expression}`, `$(arg NAME)`, `$(find PACKAGE)` and files that expressions name."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from ..base.errors import CutjointError, DescriptionError
from ..base.untrusted import find_inside
from ..urdf.packages import package_folders
from .xacro_expressions import evaluate
from .xacro_functions import (
    LAUNCH_SYMBOLS,
    SYMBOLS,
    Budget,
    ExpressionError,
    Function,
    Namespace,
    beyond,
    dotted,
    holds_function,
)
from .xacro_yaml import read_yaml

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_FILE, _BYTES = 1000, 4  # steps that a look at a file costs, and how many bytes of it are another
_PIECES = re.compile(r"(\$\$+(?=[{(]))|\$\{([^}]*)\}|\$\(([^)]*)\)|([^$]+|\$[^{($]+|\$$)")


@dataclass
class Text:
    """Evaluates text of a file, and finds what it names; `names` are those of the scope it stands in."""

    packages: tuple[Path, ...]  # folders of packages that the user names
    arguments: dict[str, str]
    files: list[Path]  # being read, the file itself first
    folders: list[Path]  # that may be read from
    budget: Budget = field(default_factory=Budget)

    def value(self, text: str, names: Namespace) -> Any:
        """A text with its expressions evaluated: the value of a lone one, else all as one text."""
        found: list[Any] = []
        at = 0
        while at < len(text):
            match = _PIECES.match(text, at)
            if match is None:
                raise ExpressionError(f"is no expression: '{text[at : at + 60]}'")
            at = match.end()
            dollars, expression, extension, plain = match.groups()
            if dollars:  # $${ stands for ${
                found.append(dollars[1:] + text[at])
                at += 1
            elif expression is not None:
                found.append(self._expression(expression, names))
            elif extension is not None:
                found.append(self._extension(str(self.value(extension, names))))
            else:
                found.append(plain)
        if any(map(holds_function, found)):
            beyond("is a function")
        made = found[0] if len(found) == 1 else "".join(map(str, found))
        self.budget.spend(1 + (len(text) + (len(made) if isinstance(made, str) else 0)) // 16)
        if isinstance(made, str) and (odd := _NOT_XML.search(made)):
            raise ExpressionError(f"has a character that XML has not, {odd[0]!a}")
        return made

    def written(self, text: str, names: Namespace) -> str:
        """The same as it is written into the plain file."""
        made = self.value(text, names)
        if not isinstance(made, str):
            made = str(made)
            self.budget.spend(len(made) // 16)
        return made

    def _expression(self, text: str, names: Namespace) -> Any:
        try:
            return evaluate(str(self.value(text, names)), names, self.budget)
        except ExpressionError as error:
            raise _within(error, f"${{{text}}}") from None

    def _extension(self, text: str) -> str:
        """$(arg NAME), $(find PACKAGE), $(optenv NAME DEFAULT), $(eval EXPRESSION)."""
        if text.startswith("eval "):
            names = {name: _converted(value) for name, value in self.arguments.items()}
            try:
                return str(evaluate(text[5:], Namespace(names | LAUNCH_SYMBOLS), self.budget))
            except ExpressionError as error:
                raise _within(error, f"$({text})") from None
        word, *rest = text.split() or [""]
        if word == "arg" and len(rest) == 1:
            if rest[0] not in self.arguments:
                raise ExpressionError(f"needs the argument '{rest[0]}', which has no default")
            return self.arguments[rest[0]]
        if word == "find" and len(rest) == 1:
            return str(self._package(rest[0]))
        if word == "optenv" and rest:  # a file learns nothing of the environment
            return " ".join(rest[1:])
        raise _within(ExpressionError("is not known here", beyond=True), f"$({text})")

    def _package(self, name: str) -> Path:
        self.budget.spend(_FILE)
        found = package_folders(name, self.files[0].parent, self.packages)
        if not found:
            raise ExpressionError(
                f"names the package '{name}', and there is no package '{name}' around the file; "
                "copy it there, or name the folder that holds it with --packages"
            )
        self.folders.append(found[0])
        return found[0]

    # -- files ----------------------------------------------------------------------------------------

    def found(self, name: str) -> Path:
        """A file that the one being read names."""
        try:
            path = find_inside(name, self.folders, self.files[-1].parent)
        except CutjointError as error:
            raise ExpressionError(f"names a file that is not read: {error}") from None
        self.budget.spend(_FILE + path.stat().st_size // _BYTES)
        return path

    def matching(self, pattern: str) -> list[str]:
        """Names of files that a pattern means, if it is one; `*` and the like stand in the last part only."""
        folder, name = os.path.split(pattern)
        if not glob.has_magic(pattern):
            return [pattern]
        if glob.has_magic(folder):
            beyond(f"names folders by a pattern, '{pattern[:80]}'")
        self.budget.spend(_FILE)
        place = (self.files[-1].parent / folder).resolve()
        if not any(place.is_relative_to(allowed.resolve()) for allowed in self.folders):
            raise ExpressionError(
                f"names files that are not read: '{pattern[:80]}' is outside the folder of the file"
            )
        return sorted(glob.glob(str(Path(glob.escape(str(place)), name))))

    def load_yaml(self, name: str) -> Any:
        """The values of a YAML file, with xacro's own tags."""
        path = self.found(name)

        def number(text: str) -> float:
            return float(evaluate(text, Namespace(SYMBOLS), self.budget))

        try:
            return dotted(read_yaml(path, number))
        except DescriptionError as error:
            raise ExpressionError(f"names a file that is not read: {error}") from None

    def symbols(self) -> Namespace:
        """What every file knows, `xacro` among it."""

        def fatal(*words: Any) -> NoReturn:
            raise ExpressionError(f"says: {' '.join(map(str, words))}")

        def silent(*_: Any, **__: Any) -> str:
            return ""

        def tokens(text: str, sep: str = ",; ", skip_empty: bool = True) -> list[str]:
            found = re.split(f"[{re.escape(sep)}]", text)
            return [part for part in found if part] if skip_empty else found

        calls: dict[str, Callable[..., Any]] = {
            "load_yaml": self.load_yaml,
            "abs_filename": lambda name: str(self.files[-1].parent / name),
            "dotify": dotted,
            "arg": lambda name: self.arguments[name],
            "tokenize": tokens,
            "fatal": fatal,
            **dict.fromkeys(("message", "warning", "error", "print_location"), silent),
        }
        own = {name: Function(name, call) for name, call in calls.items()}
        direct = {name: own[name] for name in ("load_yaml", "abs_filename", "dotify")}
        return Namespace({**SYMBOLS, **direct, "xacro": Namespace(own)})


def _within(error: ExpressionError, expression: str) -> ExpressionError:
    """The same said of the expression it is about, once."""
    if str(error).startswith("'$"):
        return error
    short = expression if len(expression) < 120 else f"{expression[:117]}..."
    return ExpressionError(f"'{short}' {error}", error.beyond)


def _converted(text: str) -> Any:
    """An argument as `$(eval ...)` sees it."""
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return {"true": True, "false": False}.get(text.lower(), text)
