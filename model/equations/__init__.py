"""The description as equations over symbols; all kinds of elements are known before one is written."""

from . import elements as elements
