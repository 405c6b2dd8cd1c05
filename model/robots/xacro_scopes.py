"""Names of a xacro file and where they are known; parameters of its macros."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .xacro_functions import ExpressionError, Namespace
from .xml_nodes import Node

TRUTHS = {"true": True, "True": True, "false": False, "False": False}


class Scope(Namespace):
    """Names of a file, a macro or a namespace; what it does not know its parent may."""

    def __init__(self, text: Callable[[str, Scope], Any], parent: Namespace, namespace: bool = False):
        super().__init__({})
        self.text, self.parent, self.namespace = text, parent, namespace
        self.values: dict[str, Any] = {}
        self.lazy: set[str] = set()  # names whose text is evaluated when it is first needed
        self.under_way: list[str] = []

    def owner(self, name: str) -> Namespace:
        scope: Namespace = self
        while isinstance(scope, Scope) and name not in scope.values:
            scope = scope.parent
        return scope

    def knows(self, name: str) -> bool:
        owner = self.owner(name)
        return isinstance(owner, Scope) or name in owner.names

    def look_up(self, name: str) -> Any:
        owner = self.owner(name)
        if not isinstance(owner, Scope):
            return owner.names[name]
        if name in owner.lazy:
            if name in owner.under_way:
                circle = " -> ".join([*owner.under_way, name])
                raise ExpressionError(f"has no value: '{name}' is defined by itself ({circle})")
            owner.under_way.append(name)
            owner.values[name] = literal(self.text(owner.values[name], owner))
            owner.under_way.remove(name)
            owner.lazy.discard(name)
        return owner.values[name]

    def put(self, name: str, value: Any, lazily: bool = False) -> None:
        self.values[name] = literal(value)
        self.lazy.discard(name)
        if lazily and isinstance(self.values[name], str):
            self.lazy.add(name)

    def remove(self, name: str) -> None:
        while isinstance(owner := self.owner(name), Scope):
            del owner.values[name]
            owner.lazy.discard(name)

    def top(self) -> Scope:
        return self.parent.top() if isinstance(self.parent, Scope) else self


def literal(value: Any) -> Any:
    """A text as the number or truth that it says, or without the quotes around it."""
    if not isinstance(value, str):
        return value
    if len(value) >= 2 and value[0] == value[-1] == "'":
        return value[1:-1]
    if "_" in value:  # a digit group to Python
        return value
    for make in (int, float):
        try:
            return make(value)
        except ValueError:
            pass
    return TRUTHS.get(value, value)


@dataclass(frozen=True)
class Macro:
    """An element with parameters: a name, whether the caller's value of that name is the default, and one."""

    body: Node
    parameters: dict[str, tuple[bool, str | None] | None]


_BLANK = re.compile(r"\s*")
_DEFAULTED = re.compile(
    r"""([^\s:=]+)\s*:?=\s*(\^\|?)?(\$\{[^}]*\}|\$\([^)]*\)|(?:'[^']*'|"[^"]*"|[^\s'"])+|)(?=\s|$)"""
)
_PLAIN = re.compile(r"\S+")


def parameters_of(text: str) -> dict[str, tuple[bool, str | None] | None]:
    """The parameters in `params` of a macro: `name`, `*block`, `name:=default`, `name:=^|default`."""
    found: dict[str, tuple[bool, str | None] | None] = {}
    at = _BLANK.match(text).end()  # type: ignore[union-attr]
    while at < len(text):
        if match := _DEFAULTED.match(text, at):
            found[match[1]] = bool(match[2]), match[3] or None
        elif match := _PLAIN.match(text, at):
            found[match[0]] = None
        at = _BLANK.match(text, match.end()).end()  # type: ignore[union-attr]
    return found
