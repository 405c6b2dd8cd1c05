"""`make memcheck`: the host's checks of a native FMU under AddressSanitizer, then under valgrind."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from cutjoint.fmu.c_sources import units_to_compile
from cutjoint.fmu.export import export
from fmu_tools import HOST, SOME, host_words

SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g", "-O1", "-std=gnu11", "-fPIC")


def main(folder: Path, name: str = "stewart") -> int:
    path = folder / f"{name}.fmu"
    export(name, path, outputs=SOME, optimize=1, picture=False)
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
    library, *words = host_words(path, str(folder))
    plain, checked = folder / "host", folder / "host_checked"
    compile_ = ("cc", *HOST, "-ldl", "-lpthread")
    subprocess.run([*compile_, "-g", "-O1", "-o", plain], check=True)
    subprocess.run([*compile_, *SANITIZE, "-o", checked], check=True)
    sources = [folder / "sources" / unit for unit in units_to_compile(2)]
    sanitized = folder / "sanitized.so"
    subprocess.run(["cc", *SANITIZE, "-shared", "-o", sanitized, *sources, "-lm"], check=True)
    print("== AddressSanitizer and UndefinedBehaviorSanitizer", flush=True)
    bad = subprocess.run([checked, "check", sanitized, *words]).returncode
    if shutil.which("valgrind") is None:
        print("== valgrind is not installed; skipped")
        return bad
    print("== valgrind", flush=True)
    options = ("-q", "--leak-check=full", "--error-exitcode=9", "--errors-for-leak-kinds=definite,indirect")
    return bad or subprocess.run(["valgrind", *options, plain, "check", library, *words]).returncode


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit(main(Path(temporary)))
