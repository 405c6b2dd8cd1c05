"""A thousand mutations of files of each format: a sentence or a mechanism, never a traceback or a NaN."""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest
from cutjoint.model.errors import CutjointError
from cutjoint.model.loading import load_robot
from robot_files import DIALECTS, DRAWN, MJCF, ONE, SDF, TWO

COUPLED = '<joint joint1="knee" joint2="swing" polycoef="0 1 2 0 0"/><weld body1="crank" body2="coupler"/>'
FILES = {
    "urdf": [*DIALECTS.values(), *DRAWN.values()],
    "xml": [(MJCF % (ONE + TWO), ""), (MJCF % COUPLED, "")],
    "sdf": [(SDF, "")],
}
NUMBERS = ("0", "-1", "1e308", "nan", "inf", "1e-320", "", "99999999", "x", "1 2", "-0")


def mutated(text: str, pick: random.Random) -> str:
    """The text with a few characters, numbers, attributes or tags lost, doubled or exchanged."""
    for _ in range(pick.randint(1, 3)):
        kind, at = pick.randint(0, 6), pick.randrange(len(text))
        pattern = (r"-?\d+\.?\d*", r'"[^"]*"', r"<[^>]*>", r"<\w+", r">[^<]+<")[pick.randint(0, 4)]
        found = list(re.finditer(pattern, text)) or [re.search("", text)]
        one, other = pick.choice(found), pick.choice(found)
        if kind == 0:
            text = text[:at] + pick.choice("<>/\"'= 0-9eax&;é") + text[at:]
        elif kind == 1:
            text = text[:at] + text[at + pick.randint(1, 60) :]
        elif kind in (2, 3):
            text = text[: one.start()] + other.group() + text[one.end() :]
        elif kind == 4:
            text = text[: one.start()] + text[one.end() :]
        elif kind == 5:
            text = text[: one.start()] + one.group() + text[one.start() :]
        else:
            one = pick.choice(list(re.finditer(r"-?\d+\.?\d*", text)))
            text = text[: one.start()] + pick.choice(NUMBERS) + text[one.end() :]
    return text


@pytest.mark.parametrize("ending", FILES)
def test_mutations_become_a_sentence_or_a_mechanism(ending: str, tmp_path: Path) -> None:
    if ending == "xml":
        pytest.importorskip("mujoco")
    read = 0
    for seed in range(1000):
        pick = random.Random(seed)
        text, beside = pick.choice(FILES[ending])
        if beside and pick.random() < 0.5:
            beside = mutated(beside, pick)
        else:
            text = mutated(text, pick)
        path = tmp_path / f"robot.{ending}"
        path.write_text(text)
        path.with_suffix(".yaml").write_text(beside or "{}")
        try:
            mechanism = load_robot(path).mechanism
        except CutjointError as refusal:
            assert str(refusal) and "\n" not in str(refusal), (seed, refusal)
            continue
        read += 1
        for body in mechanism.bodies:
            assert np.isfinite([body.mass, *body.com, *body.inertia]).all(), seed
    assert 50 < read < 950
