"""Writing files so that a reader finds the old file or the whole new one, never a part."""

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import CutjointError
from .marks import mark
from .subprocesses import remove_if_stopped

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
def write_atomically(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path to write to; what is there becomes `path` when the block ends well.

    It carries our mark then (`marks.py`). If the block fails, or the disk is full, `path` stays as it
    was and nothing else remains. The yielded path lies in the same folder, since only there renaming
    is atomic, and has the same ending. A path that is no regular file, such as /dev/stdout or a pipe,
    is yielded as it is.
    """
    path = check_writable(path)
    target = path.resolve()  # keep a link a link
    regular = target.is_file() or not target.exists()
    temporary = target.with_name(f".{target.stem}-{uuid.uuid4().hex[:8]}{target.suffix}")
    try:
        with remove_if_stopped(temporary):
            yield temporary if regular else path
            if regular:
                mark(temporary)
                if target.exists():
                    shutil.copymode(target, temporary)
                temporary.replace(target)
    except BrokenPipeError:  # the reader of a pipe has had enough: no fault of the file
        raise
    except OSError as error:
        raise CutjointError(f"can't write '{path}': {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)
