"""Dynamics of mechanisms with closed loops: everything that the manual mentions, under one name.

`cutjoint.load`, `cutjoint.Simulation`, `cutjoint.export` and so on; docs/api.md lists them all. Each is
imported when it is first asked for, since CasADi takes half a second; `__init__.pyi` says where each lives.
"""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

# Public until 0.3: names that are called otherwise now, and modules that the manual once imported from.
_RENAMED = {
    "Judgement": "RunQuality",
    "MechanismEnv": "Environment",
    "StepSlopes": "StepJacobians",
    "Wishes": "ImportOptions",
    "step_slopes": "step_jacobians",
}
_OLD_MODULES = (
    "model.batch.crew",
    "model.batch.environment",
    "model.batch.kernels",
    "model.batch.rollout",
    "model.batch.slopes",
    "model.batch.store",
    "model.batch.sweep",
    "model.describe.flaws",
    "model.design.eigenvalue_sensitivity",
    "model.design.propagate",
    "model.design.sensitivity",
    "model.errors",
    "model.linear.discrete",
    "model.linear.linearize",
    "model.loading",
    "model.papers",
    "model.papers.methods",
    "model.run",
    "model.run.equilibrium",
    "model.run.events",
    "model.run.trajectory",
    "model.show.pull",
    "model.show.view",
    "model.verify",
)


def _homes() -> dict[str, tuple[str, str]]:
    """Public name -> module of this package, and the name there; read from the stub, once."""
    if "table" not in _found:
        from pathlib import Path

        lines = Path(__file__).with_name("__init__.pyi").read_text(encoding="utf-8").splitlines()
        table = _found["table"] = {}
        for home, names in (line[5:].split(" import ") for line in lines if line.startswith("from ")):
            for name, _, public in (item.partition(" as ") for item in names.split(", ")):
                table[public] = home, name
    return _found["table"]


_found: dict[str, dict[str, tuple[str, str]]] = {}


def __getattr__(name: str) -> Any:
    if "__path__" not in globals():  # read as a plain file: pytest does so in a folder such as cutjoint-main
        raise AttributeError(name)
    if name == "__version__":
        from importlib.metadata import version

        return version(__name__)
    if name not in _homes():
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'{_hint(name)}")
    home, own = _homes()[name]
    try:
        if home.endswith("."):
            return import_module(f"{home}{own}", __name__)
        module = import_module(home, __name__)
        return getattr(module, own) if hasattr(module, own) else import_module(f"{home}.{own}", __name__)
    except ModuleNotFoundError as problem:
        if not (problem.name or "").startswith(f"{__name__}."):
            raise
        raise AttributeError(
            f"'{__name__}.{name}' is in '{problem.name}', which is not installed here"
        ) from None


def _hint(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(_RENAMED.get(name, name), _homes(), n=1)
    return f"; did you mean '{near[0]}'?" if near else ""


def __dir__() -> list[str]:
    return sorted([*_homes(), "__version__"])


def old_name(module: str, name: str) -> Any:
    """A public name that `module` had once, with a warning that says what to use instead."""
    public = _RENAMED.get(name, name)
    home, _ = _homes().get(public, ("", ""))
    if not home or (public == name and f"{__name__}{home}" == module):  # unknown, or a folder of its own
        raise AttributeError(f"module '{module}' has no attribute '{name}'")
    import warnings

    said = f"{module}.{name} is deprecated and goes with 0.3: use {__name__}.{public}"
    warnings.warn(said, DeprecationWarning, stacklevel=3)
    return getattr(sys.modules[__name__], public)


class _OldModules:
    """Finds modules that have moved, after everybody else has looked: what they offered is public here."""

    @staticmethod
    def find_spec(fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        known = fullname.partition(".")[2] in _OLD_MODULES and fullname.startswith(f"{__name__}.")
        return ModuleSpec(fullname, _OldModules, is_package=True) if known else None  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        return None

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        module.__getattr__ = lambda name: old_name(module.__name__, name)  # type: ignore[method-assign]


if "__path__" in globals() and _OldModules not in sys.meta_path:
    sys.meta_path.append(_OldModules)
