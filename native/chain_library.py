"""A chain's kinematics as a C library: header, libraries, CMake package, ctypes reader, example."""

import os
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path

import casadi as ca

from ..model.base.files import write_atomically
from ..model.base.marks import check_replaceable, marked_program
from ..model.chain.chain import Chain
from ..model.chain.core import row_names
from ..model.chain.library import CODES, Choice, check_choice, functions
from ..model.chain.rows import FrameRows, number_row
from ..model.chain.target import Target, resolve
from ..model.describe.mechanism import Mechanism
from ..model.describe.targets import SIX
from . import c_compile
from .c_sources import generate_c, identifier, quote

UNITS = ("chain.c", "chain_library.c")


def library_choice(
    chain: Chain, frames: Sequence[str], measured: Sequence[str] | None, actuators: Sequence[str] | None
) -> Choice:
    """What a library is made for: frames or targets by name, the described targets if none are given."""
    names = list(frames) or [target.name for target in chain.mechanism.targets]
    targets = []
    for name in names:
        found = resolve(chain.mechanism, Target(name, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)))
        chain.pose(found.frame, base=found.base)  # is it there?
        targets.append(FrameRows(found.frame, found.rows or SIX, found.base))
    driven = chain.drive_items(actuators)
    own = driven if measured is None else tuple(number_row(chain.mechanism, name) for name in measured)
    choice = Choice(tuple(targets), own, driven)
    check_choice(chain, choice)
    return choice


def build_library(
    mechanism: Mechanism | str,
    folder: str | os.PathLike[str],
    *,
    frames: Sequence[str] = (),
    measured: Sequence[str] | None = None,
    actuators: Sequence[str] | None = None,
    platform: str = "",
    flags: Sequence[str] = (),
    force: bool = True,
) -> Path:
    """Write a mechanism's kinematics as a C library into a folder; returns the header.

    Parameters
    ----------
    mechanism : Mechanism, or the name of an example, or the path of a description.
    folder : made if it is not there.
    frames : bodies, frames or targets that are put somewhere; the description's targets if empty.
    measured : joints and cylinders that are measured; the actuators if None.
    actuators : joints and cylinders that move it; motors and cylinders of the description if None.
    platform : one that FMUs have; this machine's own if empty.
    flags : for the compiler, such as those of sanitizers.
    force : replace files that are not as we wrote them, too.
    """
    name = c_compile.check_platforms([platform] if platform else [])[0]
    c_compile.compilers(name)  # before long work: is there a compiler?
    chain = Chain(mechanism)
    texts = sources(chain, library_choice(chain, frames, measured, actuators))
    stem = f"{identifier(chain.mechanism.name)}_chain"
    shared, static = c_compile.compile_library(name, texts, UNITS, extra=flags)
    ending = c_compile.PLATFORMS[name].ending
    made: dict[str, bytes] = {
        f"{stem}.h": marked_program(texts[f"{stem}.h"].encode(), ".h"),
        f"lib{stem}{ending}": shared,
        f"lib{stem}.a": static,
        f"{stem}.py": marked_program(texts["reader"].encode(), ".py"),
        f"{stem}Config.cmake": texts["cmake"].encode(),
        "example.c": texts["example"].encode(),
    }
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for file in made:
        check_replaceable(target / file, force=force)
    for file, data in made.items():
        with write_atomically(target / file) as temporary:
            temporary.write_bytes(data)
    return target / f"{stem}.h"


def sources(chain: Chain, choice: Choice) -> dict[str, str]:
    """File -> text of all that a library is compiled from, and what goes with it."""
    mechanism = identifier(chain.mechanism.name)
    traced = [_named(f"cj_chain_{name}", f) for name, f in functions(chain, choice).items()]
    numbers = _numbers(chain, choice, traced)

    def filled(file: str) -> str:
        place = files(__package__) / "c" if file.endswith((".c", ".h")) else files(__package__)
        text = (place / file).read_text("utf-8")
        about = ", ".join(row_names(choice.targets))
        sizes = "\n".join(f"#define {mechanism}_{key} {value}" for key, value in numbers.items())
        more = {"SIZES": sizes, "TARGETS": about, "FRAME": choice.targets[0].frame}
        more |= {"NUMBERS_OF": repr(numbers), "LIBRARY_FILE": f"lib{mechanism}_chain.so"}
        for word, value in more.items():
            text = text.replace(word, value)
        return text.replace("MECHANISM", mechanism)

    names = [f"#define {f.name()} {mechanism}_{f.name()}" for f in traced]
    return {
        "names.h": "\n".join(["/* Apart from those of other libraries in one program. */", *names, ""]),
        "chain.c": generate_c("chain.c", traced),
        "chain_tables.h": _tables(chain, choice, traced, mechanism),
        f"{mechanism}_chain.h": filled("chain_library.h"),
        "chain_library.c": filled("chain_library.c"),
        "example": filled("chain_example.c"),
        "reader": filled("chain_reader.txt"),
        "cmake": _cmake(f"{mechanism}_chain"),
    }


def _numbers(chain: Chain, choice: Choice, traced: Sequence[ca.Function]) -> dict[str, int]:
    tree = chain.free.tree
    found = {
        "NQ": tree.nq,
        "NV": tree.nv,
        "NP": chain.free.equations.p.numel(),
        "NA": len(choice.actuators),
        "NMEASURED": len(choice.measured),
        "NROWS": len(row_names(choice.targets)),
        "NPOSE": 7 * len(choice.targets),
        "NCODES": len(CODES),
    }
    found["MOST"] = max(found.values())
    sizes = {
        f"SIZE_{x.upper()}": max(getattr(f, f"sz_{x}")() for f in traced) + 1
        for x in ("arg", "res", "iw", "w")
    }
    return found | sizes | {name: k for k, name in enumerate(CODES)}


def _tables(chain: Chain, choice: Choice, traced: Sequence[ca.Function], mechanism: str) -> str:
    state = chain.released(None)
    joints = [joint for joint, at in chain.free.tree.q.items() for _ in range(at.start, at.stop)]
    texts: dict[str, Iterable[str]] = {
        "joints": joints,
        "actuators": row_names(choice.actuators),
        "measured": row_names(choice.measured),
        "rows": row_names(choice.targets),
        "parameters": [x.name for v in chain.free.variables.parameters for x in v.components()],
    }
    doubles: dict[str, Iterable[float]] = {"start_q": state.q, "start_p": [*state.p, 0.0]}
    lines = [
        '#include "names.h"',
        *(f"int {f.name()}(const double**, double**, long long int*, double*, int);" for f in traced),
        *(
            f"static const double {x}[] = {{{', '.join(map(repr, map(float, v)))}}};"
            for x, v in doubles.items()
        ),
        *(
            f"const char* const {mechanism}_{x}[] = {{{', '.join([*map(quote, v), '0'])}}};"
            for x, v in texts.items()
        ),
        f"static const char* const codes[] = {{{', '.join(map(quote, CODES.values()))}}};",
    ]
    return "\n".join([*lines, ""])


def _cmake(stem: str) -> str:
    """A package for find_package: targets cutjoint::NAME (static) and cutjoint::NAME_shared."""
    return f"""# written by cutjoint
get_filename_component(_here "${{CMAKE_CURRENT_LIST_FILE}}" PATH)
if(NOT TARGET cutjoint::{stem})
  add_library(cutjoint::{stem} STATIC IMPORTED)
  set_target_properties(cutjoint::{stem} PROPERTIES
    IMPORTED_LOCATION "${{_here}}/lib{stem}.a"
    INTERFACE_INCLUDE_DIRECTORIES "${{_here}}"
    INTERFACE_LINK_LIBRARIES m)
  add_library(cutjoint::{stem}_shared SHARED IMPORTED)
  set_target_properties(cutjoint::{stem}_shared PROPERTIES
    IMPORTED_LOCATION "${{_here}}/lib{stem}${{CMAKE_SHARED_LIBRARY_SUFFIX}}"
    INTERFACE_INCLUDE_DIRECTORIES "${{_here}}")
endif()
"""


def _named(name: str, f: ca.Function) -> ca.Function:
    symbols = f.sx_in() if f.is_a("SXFunction") else f.mx_in()
    return ca.Function(name, symbols, [ca.densify(x) for x in f.call(symbols)])
