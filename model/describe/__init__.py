"""Descriptions as text: reading, writing, checking, and the numbers that can change."""
