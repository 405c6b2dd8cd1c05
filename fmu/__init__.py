"""Mechanisms as functional mock-up units (FMI 2.0 and 3.0)."""

from .export import export
from .linear import linear_model

__all__ = ["export", "linear_model"]
