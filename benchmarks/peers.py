"""Other engines, where they are installed; each module builds its model from the same parts."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from ..model.base.errors import how_to_install

# Module here -> what it imports, and how to get it.
PEERS = {
    "peer_pinocchio": ("pinocchio", how_to_install("bench")),
    "peer_mujoco": ("mujoco", how_to_install("bench")),
    "peer_drake": ("pydrake", "pip install drake"),
    "peer_exudyn": ("exudyn", "pip install exudyn"),
}


def installed() -> tuple[list[ModuleType], list[str]]:
    """The peers that can be imported, and a sentence for each that can't."""
    found, notes = [], []
    for name, (package, command) in PEERS.items():
        if find_spec(package) is None:
            notes.append(f"{package} is not installed ({command}): left out")
            continue
        try:
            found.append(import_module(f".{name}", __package__))
        except Exception as problem:  # a broken installation of a peer must not stop the others
            notes.append(f"{package} can't be imported ({str(problem).splitlines()[0][:80]}): left out")
    return found, notes


def build(modules: list[ModuleType], parts: Any) -> tuple[dict[str, Any], list[str]]:
    """Models of one mechanism by the peers' names; a sentence for each that can't model it."""
    models, notes = {}, []
    for module in modules:
        try:
            models[module.NAME] = module.Peer(parts)
        except Exception as problem:
            notes.append(f"{module.NAME} can't model {parts.name}: {str(problem).splitlines()[0][:100]}")
    return models, notes
