"""Web pages that simulate."""

EXTENDS = {"export": "cutjoint.fmu.web.export_option"}
