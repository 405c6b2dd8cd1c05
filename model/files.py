"""Writing files so that a reader finds the old file or the whole new one, never a part."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from .errors import CutjointError

FORMATS = ("png", "svg", "pdf")  # of pictures


def check_writable(path: str | os.PathLike[str]) -> Path:
    """The path, once it is sure that a file can be put there; long work asks before it starts."""
    path = Path(path)
    folder = path.parent
    if path.is_dir():
        raise CutjointError(f"can't write '{path}': it is a folder; give the name of a file in it")
    if not folder.is_dir():
        raise CutjointError(f"can't write '{path}': there is no folder '{folder}'; create it first")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise CutjointError(f"can't write '{path}': permission denied; choose another place")
    return path


def picture_format(path: str | os.PathLike[str]) -> str:
    """The format that the ending of a file names, or an error that lists them."""
    ending = Path(path).suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        raise CutjointError(f"can't draw '{path}': the name must end in {', '.join(FORMATS)}")
    return ending


@contextmanager
def write_atomically(path: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    """Yield an open file ("w" text in UTF-8, "wb" bytes) that becomes `path` when the block ends well.

    If it does not, or the disk is full, `path` stays as it was and nothing else remains. The
    file is written beside `path`, since only there renaming is atomic. A path that is no
    regular file, such as /dev/stdout or a pipe, is written directly.
    """
    path = check_writable(path)
    text = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
    if path.exists() and not path.is_file():
        with path.open(mode, **text) as file:
            yield file
        return
    target = path.resolve()  # keep a link a link
    temporary = target.with_name(f".{target.name}-{uuid.uuid4().hex[:8]}")
    try:
        with temporary.open(mode, **text) as file:
            yield file
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    except OSError as error:
        raise CutjointError(f"can't write '{path}': {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)
