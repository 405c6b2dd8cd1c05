"""Maximal coordinates: constraints over Euler parameters, the lock constraint, assembly of parts.

Beside the engine's joint coordinates, every body has seven here, origin and Euler parameters
(papers 000 and 001). `problem` assembles parts under primitive constraints, `lock` is the six-row
joint with motion laws, `simulation` runs a described mechanism in these coordinates.
"""
