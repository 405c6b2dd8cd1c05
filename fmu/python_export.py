"""Write a pythonfmu FMU: the same variables as the native one, the engine in Python behind them.

The target needs Python with the packages named in `resources/requirements.txt`. Everything is
put together here rather than by pythonfmu's builder, whose FMUs have no units, no dependencies, a
new GUID each time, and a module name that clashes with other FMUs in the same process.
"""

import json
import re
from pathlib import Path

from ..model.base.errors import CutjointError, how_to_install
from ..model.describe.writer import write as to_yaml
from ..native.c_sources import TOKEN, identifier
from ..native.plan import Plan
from . import documentation, xml_fmi2
from .archive import content_token, write_zip
from .xml_common import tool

OLDEST = (0, 7)  # of pythonfmu: FMUs around an older one never answer their host

MODULE = '''"""Written by cutjoint: this FMU's own module, of a name that no other FMU has."""

from cutjoint.fmu.pythonfmu_runtime import MechanismSlave


class {name}(MechanismSlave):
    pass


names = globals()  # one reference more: pythonfmu's library gives one back before it makes an instance
'''


def write_python_fmu(plan: Plan, path: Path, picture: bool = True) -> None:
    home = _pythonfmu()
    shown = [v for v in plan.variables if v.kind not in ("state", "derivative", "kink", "coordinate")]
    contents, documents = documentation.documentation(plan, 2, picture)
    del documents["documentation/staticLinking.txt"]  # there is nothing to link
    texts = {
        "modelDescription.xml": xml_fmi2.description(plan, shown),
        **documents,
        "resources/mechanism.yaml": to_yaml(plan.mechanism),
        "resources/options.json": json.dumps(plan.choices),
        "resources/requirements.txt": tool("cutjoint[fmu]", "==") + "\n",
    }
    token = content_token(texts)
    name = f"cutjoint_{token[1:9]}{token[10:14]}"
    texts = {key: text.replace(TOKEN, token) for key, text in texts.items()}
    texts[f"resources/{name}.py"] = MODULE.format(name=name.capitalize())
    texts["resources/slavemodule.txt"] = name
    contents |= {key: text.encode() for key, text in texts.items()}
    for file in sorted(home.glob("*.py")):
        contents[f"resources/pythonfmu/{file.name}"] = file.read_bytes()
    for file in sorted((home / "resources" / "binaries").rglob("*")):
        if file.suffix in (".so", ".dll", ".dylib"):
            library = f"{identifier(plan.mechanism.name)}{file.suffix}"
            contents[f"binaries/{file.parent.name}/{library}"] = file.read_bytes()
    write_zip(path, contents)


def _pythonfmu() -> Path:
    """The folder of pythonfmu, whose library travels in the FMU."""
    try:
        import pythonfmu
    except ImportError:
        raise CutjointError(f"--runtime python needs pythonfmu; {how_to_install('fmu')}") from None
    if tuple(map(int, re.findall(r"\d+", pythonfmu.__version__)[:2])) < OLDEST:
        least = ".".join(map(str, OLDEST))
        raise CutjointError(
            f"--runtime python needs pythonfmu {least} or later, and {pythonfmu.__version__} is installed, "
            f"whose FMUs never answer; {how_to_install('fmu')}"
        )
    return Path(pythonfmu.__file__).parent
