"""Traced functions as fast code."""
