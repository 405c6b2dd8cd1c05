"""Systems of FMUs."""

EXTENDS = {"export": "cutjoint.fmu.ssp.export_option"}
