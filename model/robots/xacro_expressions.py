"""Expressions of xacro files, evaluated by what is listed and nothing else.

An expression comes from a stranger. It is parsed into Python's syntax tree. Every node of it has to be one
that is known here, every name, attribute and function one of `xacro_functions.py`; anything else is refused.
Every value is measured before the next one is made of it, so that powers, repetitions and lists of lists end
where no robot's file would come, and the steps of a whole file are counted: none runs for ever.
"""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from .xacro_functions import (
    DEEPEST,
    GROWING,
    OPERATORS,
    SIGNS,
    SYMBOLS,
    Budget,
    Dotted,
    ExpressionError,
    Function,
    Namespace,
    beyond,
    measure,
    method_of,
)

LONGEST_EXPRESSION = 4_000  # characters


def evaluate(text: str, names: Namespace, budget: Budget) -> Any:
    """The value of an expression with the names that are known where it stands."""
    if len(text) > LONGEST_EXPRESSION:
        beyond("is longer than any robot needs")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Python's compiler, on what is odd but allowed
            tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise ExpressionError(f"is no expression ({error.msg})") from None
    except (ValueError, MemoryError, RecursionError):
        beyond("can't be parsed")
    try:
        return _Evaluation(names, budget).value(tree.body)
    except ExpressionError:
        raise
    except RecursionError:
        beyond("is nested too deep")
    except KeyError as error:
        raise ExpressionError(f"has no value: there is no {error}") from None
    except Exception as error:  # what Python's own operators and functions make of wrong values
        raise ExpressionError(f"has no value: {' '.join(str(error).split())[:200]}") from None


@dataclass
class _Evaluation:
    names: Namespace
    budget: Budget
    depth: int = 0

    def value(self, node: ast.expr) -> Any:
        """The value of a node, measured."""
        self.depth += 1
        if self.depth > DEEPEST:
            beyond("is nested too deep")
        found = self._of(node)
        self.budget.spend(1 + measure(found) // 16)
        self.depth -= 1
        return found

    def _of(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=x) if x is None or isinstance(x, bool | int | float | str):
                return x
            case ast.Name(id=name):
                return self._named(self.names, name)
            case ast.Attribute(value=owner, attr=name):
                return self._attribute(self.value(owner), name)
            case ast.Subscript(value=owner, slice=key):
                return self._item(self.value(owner), key)
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                made = [self.value(part) for part in parts]
                return made if isinstance(node, ast.List) else tuple(made)
            case ast.Dict(keys=keys, values=values) if None not in keys:
                return {self.value(k): self.value(v) for k, v in zip(keys, values, strict=True) if k}
            case ast.BinOp(left=a, op=op, right=b) if type(op) in OPERATORS:
                return OPERATORS[type(op)](self.value(a), self.value(b))
            case ast.UnaryOp(op=op, operand=a):
                return SIGNS[type(op)](self.value(a))
            case ast.IfExp(test=test, body=a, orelse=b):
                return self.value(a if self.value(test) else b)
            case ast.BoolOp(op=op, values=parts):
                return self._either(parts, isinstance(op, ast.Or))
            case ast.Compare(left=first, ops=ops, comparators=others):
                return self._compared(first, ops, others)
            case ast.Call(func=function, args=given, keywords=named):
                return self._called(self.value(function), given, named)
        return beyond(f"has a {_word(node)}")

    def _named(self, names: Namespace, name: str) -> Any:
        if name.startswith("__"):
            beyond(f"uses '{name}'")
        try:
            return names.look_up(name)
        except KeyError:
            pass
        if name in GROWING or names is SYMBOLS["python"]:
            beyond(f"uses '{name}'")
        raise ExpressionError(f"has no value: '{name}' is not defined")

    def _attribute(self, owner: Any, name: str) -> Any:
        if name.startswith("__"):
            beyond(f"uses the attribute '{name}'")
        if isinstance(owner, Namespace):
            return self._named(owner, name)
        if (method := method_of(owner, name)) is not None:
            return method
        if isinstance(owner, Dotted):
            if name not in owner:
                raise ExpressionError(f"has no value: the dictionary has no key '{name}'")
            return owner[name]
        return beyond(f"uses the attribute '{name}'")

    def _item(self, owner: Any, key: ast.expr) -> Any:
        if not isinstance(owner, str | list | tuple | dict | range):
            beyond("takes an item of what has none")
        if isinstance(key, ast.Slice):
            ends = [None if x is None else self.value(x) for x in (key.lower, key.upper, key.step)]
            return owner[slice(*ends)]
        return owner[self.value(key)]

    def _either(self, parts: list[ast.expr], wanted: bool) -> Any:
        for part in parts:
            found = self.value(part)
            if bool(found) is wanted:
                break
        return found

    def _compared(self, first: ast.expr, ops: list[ast.cmpop], others: list[ast.expr]) -> Any:
        left, found = self.value(first), True
        for op, other in zip(ops, others, strict=True):
            right = self.value(other)
            found = OPERATORS[type(op)](left, right)
            if not found:
                break
            left = right
        return found

    def _called(self, function: Any, given: list[ast.expr], named: list[ast.keyword]) -> Any:
        if not isinstance(function, Function):
            beyond("calls what is no function")
        if any(word.arg is None for word in named):
            beyond("hands over a dictionary of arguments")
        values = [self.value(x) for x in given]
        return self._call(function, *values, **{str(word.arg): self.value(word.value) for word in named})

    def _call(self, function: Function, /, *values: Any, **words: Any) -> Any:
        """What a function makes of values; the functions it is given are called in the same way."""
        handed = [*words.values(), *([] if function.takes_functions else values)]
        if any(isinstance(x, Function | Namespace) for x in handed):
            beyond(f"hands a function to '{function.name}'")
        self.budget.spend(1 + sum(map(measure, (*values, *words.values(), function.owner))) // 16)
        if function.takes_functions:
            values = tuple(self._guarded(x) if isinstance(x, Function) else x for x in values)
        found = function.call(*values, **words)
        measure(function.owner)  # a list may have grown
        return found

    def _guarded(self, function: Function) -> Function:
        return replace(function, call=partial(self._call, function))


_WORDS = {
    ast.Lambda: "lambda",
    ast.JoinedStr: "formatted text (f'...')",
    ast.NamedExpr: "assignment (:=)",
    ast.Starred: "star",
}


def _word(node: ast.expr) -> str:
    """What users call a node of the syntax tree."""
    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        return "comprehension"
    if isinstance(node, ast.BinOp):
        return f"operator {type(node.op).__name__}"
    return _WORDS.get(type(node), type(node).__name__)
