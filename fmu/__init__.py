"""Mechanisms as functional mock-up units (FMI 2.0 and 3.0), and as web pages that simulate them."""

from .export import export
from .linear import linear_model
from .page import export_page
from .ssp import write_ssp

__all__ = ["export", "export_page", "linear_model", "write_ssp"]
