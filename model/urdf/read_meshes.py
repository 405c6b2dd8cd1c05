"""Triangles of mesh files, read in a process of its own with little memory and time.

A mesh is data from a stranger, and a small file can ask for any amount of memory: a scene whose nodes repeat
each other, an archive, a wrong count. All files of a mechanism are read by one process; each result is a file
as soon as it is there. If the process ends too early, the file it was at is to blame, and another goes on.
"""

import contextlib
import subprocess
import sys
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from ..base.subprocesses import run_program, scratch_folder
from ..base.untrusted import check_xml, read_bytes

LARGEST_MESH = 50_000_000  # bytes
MOST_FACES = 3_000_000
MEMORY = 2_000_000_000  # bytes of addresses, of which the readers themselves take half
SECONDS = 20  # of a processor, of one file
MOST_REFUSED = 3  # files that use up their time; no others are tried then
TOO_MUCH = "takes too much memory or time"
Triangles = tuple[np.ndarray, np.ndarray]  # corners (n, 3), and faces (m, 3) of them seen from outside
Key = tuple[Path, int, int]


def key_of(path: Path) -> Key:
    """A file as it is now."""
    found = path.stat()
    return path, found.st_mtime_ns, found.st_size


@lru_cache(maxsize=8)
def read_meshes(keys: tuple[Key, ...]) -> dict[Path, Triangles | str]:
    """Corners and faces of each file, or why there are none."""
    if find_spec("trimesh") is None:
        return {path: "install 'trimesh' (pip install trimesh pycollada) to show meshes" for path, *_ in keys}
    found: dict[Path, Triangles | str] = {}
    with scratch_folder("meshes-") as folder:
        left = [path for path, *_ in keys]
        while left:
            _run(folder, left)
            results = [_result(folder / str(k)) for k in range(len(left))]
            done = next((k for k, result in enumerate(results) if result is None), len(left))
            found |= {path: r for path, r in zip(left[:done], results, strict=False) if r is not None}
            if done < len(left):
                found[left[done]] = TOO_MUCH
            left = left[done + 1 :]
            if list(found.values()).count(TOO_MUCH) >= MOST_REFUSED:
                found |= dict.fromkeys(left, "is not read: too many before it take too much memory or time")
                break
            for file in folder.iterdir():
                file.unlink()
    return found


def _run(folder: Path, paths: Sequence[Path]) -> None:
    words = [sys.executable, "-m", __name__, str(folder), str(MEMORY), str(SECONDS), *map(str, paths)]
    with contextlib.suppress(subprocess.TimeoutExpired):  # what is there counts
        run_program(words, timeout=60 + 4 * SECONDS * len(paths))


def _result(stem: Path) -> Triangles | str | None:
    try:
        with np.load(stem.with_suffix(".npz"), allow_pickle=False) as kept:
            return kept["corners"], kept["faces"]
    except FileNotFoundError:
        pass
    try:
        return stem.with_suffix(".txt").read_text(encoding="utf-8") or None  # no memory for a word
    except FileNotFoundError:
        return None


# -- in the process ------------------------------------------------------------------------------------


def _load(path: Path) -> Triangles:
    import io
    import zipfile

    import trimesh

    content = read_bytes(path, LARGEST_MESH, "mesh")
    if zipfile.is_zipfile(io.BytesIO(content)):  # wherever it starts: pycollada unpacks it
        raise ValueError("it is an archive")
    kind = path.suffix[1:].lower()
    if kind == "dae":
        check_xml(content)
    # From memory and without a resolver: no other file is opened, whatever the mesh names.
    loaded = trimesh.load(io.BytesIO(content), force="mesh", file_type=kind)
    corners, faces = np.array(loaded.vertices, float), np.array(loaded.faces, int)  # type: ignore[union-attr]
    if len(faces) > MOST_FACES or len(corners) > 3 * MOST_FACES:
        raise ValueError(f"it has more than {MOST_FACES} faces")
    if not len(faces) or not np.isfinite(corners).all():
        raise ValueError("it has no triangles")
    return corners, faces


def main(folder: str, memory: str, seconds: str, *paths: str) -> None:
    for k, name in enumerate(paths):
        set_limits(int(memory), int(seconds))
        stem = Path(folder, str(k))
        try:
            corners, faces = _load(Path(name))
            with stem.with_suffix(".part").open("wb") as stream:
                np.savez(stream, corners=corners, faces=faces)
            stem.with_suffix(".part").rename(stem.with_suffix(".npz"))
        except MemoryError:
            stem.with_suffix(".txt").write_text("takes too much memory", encoding="utf-8")
        except Exception as error:  # whatever a broken file makes its reader raise
            said = " ".join(str(error).split())[:200] or type(error).__name__
            stem.with_suffix(".txt").write_text(f"is no mesh: {said}", encoding="utf-8")


def set_limits(memory: int, seconds: int) -> None:
    """So much memory, and so much more time for the next file."""
    try:
        import resource
        import time

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        until = int(time.process_time()) + seconds
        resource.setrlimit(resource.RLIMIT_CPU, (until, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    except (ImportError, ValueError, OSError):
        pass  # no limits on this system


if __name__ == "__main__":
    main(*sys.argv[1:])
