"""How far a run can be trusted: unsettled steps, energy that work does not explain, the motion itself.

Energy minus work is constant in the exact motion, whatever the mechanism: what it changes by is the one
error that every run can measure of itself. It is compared with the energies that were exchanged, never with
the energy itself, whose zero is arbitrary. Phases, attitudes and errors that grow on the way leave energy as
it is: `second_run.py` tells those.
"""

import warnings
from dataclasses import dataclass
from math import inf

import numpy as np

from ..base.thresholds import ENERGY_ROUND_OFF, LOOPS_MISS, MOST_UNSETTLED, TRUSTED
from ..manifold.step import STEP_INFO


@dataclass(frozen=True)
class RunQuality:
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
    motion: float = 0.0  # of the motion's size: what is wrong in it, as a second run with longer steps tells
    missed: float = 0.0  # of the accelerations: what loops between very unequal inertias do not get of them

    @property
    def part(self) -> float:
        """What is wrong in the energies as a part of those that were exchanged, beyond round-off."""
        wrong = self.imbalance + self.made_up
        if wrong <= self.round_off:
            return 0.0
        return wrong / self.scale if self.scale > 0 else np.inf

    @property
    def trusted(self) -> bool:
        """Whether so little is wrong that the run can be trusted."""
        return not self.doubts

    @property
    def settled(self) -> bool:
        """Whether all but a few steps, as at singular poses, were fine enough; single ones: any at all."""
        if not self.refined:
            return not self.unsettled or self.unsettled < self.judged
        return self.unsettled <= MOST_UNSETTLED * self.judged

    @property
    def doubts(self) -> tuple[str, ...]:
        """What speaks against it, in words."""
        energy = f"{self.imbalance + self.made_up:.2g} J, {self.part:.2g} of what was exchanged"
        amount = f"by {self.motion:.2g} of its size" if self.motion < inf else "altogether: other steps fail"
        found = {
            f"the energy is wrong by {energy}": self.part <= TRUSTED,  # NaN is not
            f"{self.unsettled} of {self.judged} steps did not settle": self.settled,
            f"the motion may be wrong {amount}": self.motion <= TRUSTED,
            f"inertias differ so much that loops miss {self.missed:.2g} of the accelerations": (
                self.missed <= LOOPS_MISS
            ),
        }
        return tuple(words for words, good in found.items() if not good)

    def warn(self, name: str, advice: str) -> None:
        """Warn if the run of the mechanism `name` is not to be trusted, with `advice` on what to do."""
        if not self.trusted:
            warnings.warn(
                f"'{name}': {'; '.join(self.doubts)}; do not trust this run, {advice}", stacklevel=3
            )
        if self.undecided:
            warnings.warn(
                f"'{name}' met a singular pose {self.undecided} time(s) so nearly that steps can't decide "
                f"whether it goes straight on, as it did, or turns; to know, {advice}",
                stacklevel=3,
            )


NOT_JUDGED = RunQuality()


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

    def judgement(self, tally: np.ndarray) -> RunQuality:
        """`tally` counts steps judged, and sums up their verdicts."""
        judged = int(tally[0])
        said = dict(zip(STEP_INFO, tally[1:], strict=True))
        refined, unsettled, undecided, tries = (
            int(said[name]) for name in ("refined", "unsettled", "undecided", "tries")
        )
        counts = judged, refined, unsettled, undecided, tries, float(said["made_up"])
        if (rows := self.energies) is None:
            return RunQuality(*counts)
        with np.errstate(all="ignore"):
            balance = rows @ (1.0, 1.0, -1.0)
            scale = rows[:, 0].max() + np.ptp(rows[:, 1:], axis=0).sum()
            floor = ENERGY_ROUND_OFF * max(len(rows), judged) * np.abs(rows).max(axis=0).sum()
            imbalance = np.abs(balance - balance[0]).max()
        return RunQuality(*counts, float(imbalance), float(scale), float(floor))
