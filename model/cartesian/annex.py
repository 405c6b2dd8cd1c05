"""Cartesian simulation and assembly problems."""

EXTENDS = {"assemble": "cutjoint.model.cartesian.assemble_parts"}
