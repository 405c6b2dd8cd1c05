"""Mechanisms as functional mock-up units (FMI 2.0 and 3.0)."""

from importlib import import_module
from typing import Any

from .export import export
from .linear import linear_model

__all__ = ["export", "linear_model"]


def __getattr__(name: str) -> Any:
    """`export_page` and `write_ssp`, which were here."""
    return import_module("..", __name__).old_name(__name__, name)
