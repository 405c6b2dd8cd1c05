"""Dynamics of mechanisms with closed loops: the names that people use most.

`cutjoint.load`, `cutjoint.Simulation` and the others of `cutjoint.model`, `cutjoint.linearize`,
`cutjoint.verify`, `cutjoint.__version__`. Each is imported when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .model import *  # noqa: F403
    from .model.linear.linearize import linearize as linearize
    from .model.verify.verify import verify as verify

    __version__: str

_HOMES = {"linearize": "model.linear.linearize", "verify": "model.verify.verify"}
_PACKAGES = ("model", "fmu", "ros", "examples", "benchmarks")


def __getattr__(name: str) -> Any:
    if "__path__" not in globals():  # read as a plain file: pytest does so in a folder such as cutjoint-main
        raise AttributeError(name)
    if name == "__version__":
        from importlib.metadata import version

        return version(__name__)
    if name in _PACKAGES:
        return import_module(f".{name}", __name__)
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    model = import_module(".model", __name__)
    if name in model.__all__:
        return getattr(model, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*import_module(".model", __name__).__all__, *_HOMES, *_PACKAGES, "__version__"])
