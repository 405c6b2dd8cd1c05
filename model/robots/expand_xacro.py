"""Xacro: XML with properties, conditions, macros and includes, expanded into plain elements.

A property is evaluated when it is first used, in the scope that defines it. A macro's names are looked up in
its own scope, then in its caller's. Blocks are evaluated by the caller, and again where they are inserted.
Expressions are what `xacro_expressions.py` knows, files what `packages.py` finds. Where a file needs more,
the message names the place and `--trust`, which hands the file to the xacro package instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..base.errors import DescriptionError
from ..urdf.packages import package_around
from .xacro_functions import ExpressionError, Namespace
from .xacro_scopes import TRUTHS, Macro, Scope, parameters_of
from .xacro_text import Text
from .xml_nodes import MOST_NODES, Node, read_xml

DEEPEST = 150  # elements and macros in one another
PLACE = 4  # steps of an element or a macro
TRUST = "--trust hands the file to the xacro package as it is"
Content = list["Node | str"]


@dataclass
class Expander:
    """Elements of a file; macros and properties are handed down, since they have scopes."""

    text: Text
    depth: int = 0
    made: int = 0

    def element(self, node: Node, macros: Scope, names: Scope) -> Node:
        """A plain element with what its attributes and its content become."""
        made = replace(node, attributes={}, content=[])
        for key, text in node.attributes.items():
            if not key.startswith("xacro:") and key != "xmlns:xacro":
                made.attributes[key] = self._with_place(node, self.text.written, text, names)
        made.content = self.content(node, macros, names, made.attributes)
        return made

    def content(self, node: Node, macros: Scope, names: Scope, attributes: dict[str, str]) -> Content:
        """What stands in an element, expanded; `attributes` are those of the element it will be in."""
        self.depth += 1
        if self.depth > DEEPEST:
            node.refuse(f"elements and macros in one another go deeper than {DEEPEST}; {TRUST}")
        self._with_place(node, self.text.budget.spend, PLACE * (1 + len(node.content)))
        found: Content = []
        for part in node.content:
            if isinstance(part, str):
                found.append(self._with_place(node, self.text.written, part, names))
            elif part.tag == "xacro:attribute":
                key = str(self._attribute(part, "name", names))
                value = self._given(part, "value")
                attributes[key] = self._with_place(part, self.text.written, value, names)
            else:
                found += self._expanded(part, macros, names, attributes)
        self.depth -= 1
        self.made += len(found)
        if self.made > MOST_NODES:
            node.refuse("makes more elements than any robot needs")
        return found

    def _expanded(self, node: Node, macros: Scope, names: Scope, attributes: dict[str, str]) -> Content:
        """What an element that may be one of xacro's becomes."""
        if not node.tag.startswith("xacro:"):
            return [self.element(node, macros, names)]
        word = node.tag.removeprefix("xacro:")
        if word in ("if", "unless"):
            self._given(node, "value")
            wanted = self._truth(node, "value", names) is (word == "if")
            return self.content(node, macros, names, attributes) if wanted else []
        if word == "property":
            self._property(node, names)
        elif word == "macro":
            name = self._given(node, "name").removeprefix("xacro:")
            parameters = node.attributes.get("params", "")
            # a quote that does not end makes each parameter look at all others
            self._with_place(node, self.text.budget.spend, (len(parameters) // 30) ** 2)
            macros.put(name, Macro(node, parameters_of(parameters)))
        elif word == "arg":
            default = str(self._attribute(node, "default", names))
            self.text.arguments.setdefault(self._given(node, "name"), default)
        elif word == "include":
            return self._included(node, macros, names)
        elif word == "insert_block":
            return self._inserted(node, macros, names)
        elif word == "element":
            tag = str(self._attribute(node, "xacro:name", names))
            return self._expanded(replace(node, tag=tag), macros, names, attributes)
        else:
            return self._called(node, word, macros, names)
        return []

    def _said(self, node: Node, text: str, names: Namespace) -> Any:
        """The value of a text in an element."""
        return self._with_place(node, self.text.value, text, names)

    def _with_place(self, node: Node, call: Callable[..., Any], *given: Any) -> Any:
        """What a call gives; what is wrong with it names the element's place."""
        try:
            return call(*given)
        except ExpressionError as error:
            node.refuse(f"xacro: {error}{'; ' + TRUST if error.beyond else ''}")

    def _given(self, node: Node, key: str) -> str:
        if key not in node.attributes:
            node.refuse(f"<{node.tag}> needs the attribute '{key}'")
        return node.attributes[key]

    def _attribute(self, node: Node, key: str, names: Namespace) -> Any:
        return self._said(node, self._given(node, key), names)

    def _truth(self, node: Node, key: str, names: Namespace, default: str = "false") -> bool:
        value = self._said(node, node.attributes.get(key, default), names)
        try:
            value = TRUTHS.get(value, value) if isinstance(value, str) else value
            return bool(int(value) if isinstance(value, str) else value)
        except ValueError:
            node.refuse(f"'{key}' of <{node.tag}> must be true or false, not '{str(value)[:60]}'")

    def _property(self, node: Node, names: Scope) -> None:
        name = str(self._attribute(node, "name", names))
        given = node.attributes
        if not name.isidentifier() or name.startswith("__"):
            node.refuse(f"'{name[:60]}' is no name of a property")
        value: Any = given.get("value", given.get("default"))
        if self._truth(node, "remove", names) and names.knows(name):
            names.remove(name)
            return
        if "default" in given and names.knows(name):
            return
        if value is None:
            name, value = f"**{name}", node
        lazily = self._truth(node, "lazy_eval", names, "true")
        target, scope = names, given.get("scope")
        if scope == "global":
            target, lazily = names.top(), False
        elif scope == "parent":
            if not isinstance(names.parent, Scope):
                return
            target, lazily = names.parent, False
            while not names.namespace and target.namespace and isinstance(target.parent, Scope):
                target = target.parent
        if not lazily and isinstance(value, str):
            value = self._said(node, value, names)
        target.put(name, value, lazily)

    def _included(self, node: Node, macros: Scope, names: Scope) -> Content:
        spec = str(self._attribute(node, "filename", names))
        if space := node.attributes.get("ns"):
            space = str(self._said(node, space, names))
            inner = Scope(self.text.value, Namespace({}), True), Scope(self.text.value, names, True)
            macros.put(space, inner[0])
            names.put(space, inner[1])
            macros, names = inner
        found: Content = []
        for file in self._with_place(node, self.text.matching, spec):
            try:
                path = self.text.found(file)
            except ExpressionError as error:
                if self._truth(node, "optional", names) and not error.beyond:
                    continue
                node.refuse(f"xacro: {error}{'; ' + TRUST if error.beyond else ''}")
            self.text.files.append(path)
            found += self.content(read_xml(path), macros, names, {})
            self.text.files.pop()
        return found

    def _inserted(self, node: Node, macros: Scope, names: Scope) -> Content:
        name = self._given(node, "name")
        for stars in ("**", "*"):
            if names.knows(stars + name):
                block: Node = names.look_up(stars + name)
                made = self.element(
                    replace(block, attributes=block.attributes if stars == "*" else {}), macros, names
                )
                return made.content if stars == "**" else [made]
        node.refuse(f"there is no block '{name}'")

    def _called(self, node: Node, word: str, macros: Scope, names: Scope) -> Content:
        given = dict(node.attributes)
        if word == "call":
            word = str(self._attribute(node, "macro", names))
            del given["macro"]
        inner_macros, inner_names = macros, names
        *spaces, last = [word] if macros.knows(word) else word.split(".")
        try:
            for space in spaces:
                inner_macros, inner_names = inner_macros.look_up(space), inner_names.look_up(space)
            macro: Macro = inner_macros.look_up(last)
        except (KeyError, AttributeError):
            node.refuse(f"there is no macro '{word}'")
        inner_names, inner_macros = Scope(self.text.value, inner_names), Scope(self.text.value, inner_macros)
        missing = dict(macro.parameters)
        for key, text in given.items():
            if key not in missing:
                node.refuse(f"the macro '{word}' has no parameter '{key}'")
            del missing[key]
            inner_names.put(key, self._said(node, text, names))
        blocks = [part for part in self.content(node, macros, names, {}) if isinstance(part, Node)]
        for key in [key for key in missing if key.startswith("*")]:
            if not blocks:
                node.refuse(f"the macro '{word}' needs a block '{key.lstrip('*')}'")
            inner_names.put(key, blocks.pop(0))
            del missing[key]
        if blocks:
            node.refuse(f"the macro '{word}' takes no block <{blocks[0].tag}>")
        for key, default in missing.items():
            inner_names.put(key, self._default(node, key, default, word, names))
        return self.content(macro.body, inner_macros, inner_names, {})

    def _default(
        self, node: Node, key: str, default: tuple[bool, str | None] | None, word: str, names: Scope
    ) -> Any:
        forward, text = default or (False, None)
        if forward and names.knows(key):
            return names.look_up(key)
        if default is None or (forward and text is None):
            node.refuse(f"the macro '{word}' needs the parameter '{key}'")
        return self._said(node, text or "", names)


def expand_xacro(
    path: Path, arguments: Mapping[str, str] | None = None, packages: Iterable[Path] = ()
) -> Node:
    """The plain XML of a xacro file.

    arguments : values of `$(arg ...)`, before the file's own defaults.
    packages : folders that hold packages, which the file may read too.
    """
    path = path.resolve()
    text = Text(tuple(packages), dict(arguments or {}), [path], [package_around(path.parent)])
    names = Scope(text.value, text.symbols())
    try:
        return Expander(text).element(read_xml(path), Scope(text.value, Namespace({})), names)
    except RecursionError:
        raise DescriptionError(f"{path}: its macros and properties are nested too deep; {TRUST}") from None
    except ExpressionError as error:  # of a property that a macro's parameter forwards
        raise DescriptionError(f"{path}: xacro: {error}{'; ' + TRUST if error.beyond else ''}") from None
