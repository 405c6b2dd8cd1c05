"""A controller as a pythonfmu FMU: three PID loops that move the stewart platform's motors together.

Made into an FMU and coupled with the mechanism by `cosimulation.py`.
"""

from __future__ import annotations

import math
from typing import Any

from pythonfmu import Fmi2Causality, Fmi2Initial, Fmi2Slave, Fmi2Variability, Real

KP, KI, KD = 900.0, 2000.0, 90.0  # N·m/rad, N·m/(rad·s), N·m·s/rad
REACH, PERIOD = 0.15, 1.0  # rad, s


class PdController(Fmi2Slave):  # type: ignore[misc]
    """Torque = KP e + KI ∫e + KD ė towards a reference that swings all motors smoothly."""

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.reference = 0.0
        exact = {"causality": Fmi2Causality.output, "initial": Fmi2Initial.exact}
        self.register_variable(Real("reference", variability=Fmi2Variability.continuous, **exact))
        for k in (1, 2, 3):
            setattr(self, f"total{k}", 0.0)
            for name in (f"angle{k}", f"speed{k}", f"torque{k}"):
                setattr(self, name, 0.0)
            for name in (f"angle{k}", f"speed{k}"):
                self.register_variable(Real(name, causality=Fmi2Causality.input))
            self.register_variable(Real(f"torque{k}", variability=Fmi2Variability.continuous, **exact))

    def do_step(self, current_time: float, step_size: float) -> bool:
        now, turn = current_time + step_size, 2 * math.pi / PERIOD
        self.reference = 0.5 * REACH * (1 - math.cos(turn * now))
        rate = 0.5 * REACH * turn * math.sin(turn * now)
        for k in (1, 2, 3):
            error = self.reference - getattr(self, f"angle{k}")
            total = getattr(self, f"total{k}") + error * step_size
            setattr(self, f"total{k}", total)
            damping = KD * (rate - getattr(self, f"speed{k}"))
            setattr(self, f"torque{k}", KP * error + KI * total + damping)
        return True
