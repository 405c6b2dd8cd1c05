"""How far a run can be trusted: the steps that did not settle, and the energy that work does not explain.

Energy minus work is constant in the exact motion, whatever the mechanism: what it changes by is the one
error that every run can measure of itself. It is compared with the energies that were exchanged, never with
the energy itself, whose zero is arbitrary.
"""

import warnings
from dataclasses import dataclass

import numpy as np

from ..manifold.step import VERDICT
from ..thresholds import ENERGY_ROUND_OFF, TRUSTED


@dataclass(frozen=True)
class Judgement:
    """What a run says of itself; energies in joules."""

    judged: int = 0  # steps that were judged, by their energy, speeds and loops
    refined: int = 0  # of these: done again in shorter ones
    unsettled: int = 0  # of these: too coarse even so
    undecided: int = 0  # of these: at a singularity, with two ways to go on; straight on was taken
    tries: int = 0  # shorter steps that were tried in place of those
    made_up: float = 0.0  # energy that unsettled steps had too much or too little, and were given back
    imbalance: float = 0.0  # largest change of energy less work, up to any record
    scale: float = 0.0  # most kinetic energy, and the ranges of potential energy and work
    round_off: float = 0.0  # what the imbalance may be in any case

    @property
    def part(self) -> float:
        """What is wrong in the energies as a part of those that were exchanged, beyond round-off."""
        wrong = self.imbalance + self.made_up
        if wrong <= self.round_off:
            return 0.0
        return wrong / self.scale if self.scale > 0 else np.inf

    @property
    def trusted(self) -> bool:
        return self.part <= TRUSTED  # NaN is not

    def warn(self, name: str, advice: str) -> None:
        """Say so if a run is not to be trusted."""
        if not self.trusted:
            steps = f"{self.unsettled} of {self.judged} steps did not settle; " if self.unsettled else ""
            warnings.warn(
                f"the energy of '{name}' is wrong by {self.imbalance + self.made_up:.2g} J, {self.part:.2g} "
                f"of what was exchanged; {steps}do not trust this run, {advice}",
                stacklevel=3,
            )
        elif self.undecided:
            warnings.warn(
                f"'{name}' met a singular pose {self.undecided} time(s) so nearly that steps can't tell "
                f"whether it goes straight on, as it did, or turns; to know, {advice}",
                stacklevel=3,
            )


NOT_JUDGED = Judgement()


class Audit:
    """Follows the energies of a run from record to record."""

    def __init__(self) -> None:
        self._rows: list[np.ndarray] = []

    def add(self, rows: np.ndarray) -> None:
        """Kinetic and potential energy and work at some records, (n, 3)."""
        self._rows.append(rows)

    @property
    def energies(self) -> np.ndarray | None:
        """Kinetic and potential energy and work at every record, if they were followed."""
        return np.concatenate(self._rows) if self._rows else None

    def judgement(self, tally: np.ndarray) -> Judgement:
        """`tally` counts steps judged, and sums up their verdicts."""
        judged = int(tally[0])
        said = dict(zip(VERDICT, tally[1:], strict=True))
        refined, unsettled, undecided, tries = (
            int(said[name]) for name in ("refined", "unsettled", "undecided", "tries")
        )
        counts = judged, refined, unsettled, undecided, tries, float(said["made_up"])
        if (rows := self.energies) is None:
            return Judgement(*counts)
        with np.errstate(all="ignore"):
            balance = rows @ (1.0, 1.0, -1.0)
            scale = rows[:, 0].max() + np.ptp(rows[:, 1:], axis=0).sum()
            floor = ENERGY_ROUND_OFF * max(len(rows), judged) * np.abs(rows).max(axis=0).sum()
            imbalance = np.abs(balance - balance[0]).max()
        return Judgement(*counts, float(imbalance), float(scale), float(floor))
