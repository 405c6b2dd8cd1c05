"""The door for files that others made: bytes within a limit, and paths within folders that are allowed.

A file from a stranger may be endless, and may name any other file. Every reader takes its content from here,
never more than it can use, and whatever a file names is found here, links resolved, or not at all.
"""

import os
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from .errors import CutjointError, DescriptionError

NO_DOCTYPE = "document types and entities are refused; remove <!DOCTYPE ...>"
LARGEST_DIRECTORY = 10_000_000  # bytes: a hundred thousand files
LARGEST_TABLE = 500_000_000  # bytes: ten columns at 1 kHz for an hour


def read_bytes(path: str | os.PathLike[str], most: int, what: str = "description") -> bytes:
    """The content of a file, never more than `most` bytes, even of an endless device."""
    try:
        with Path(path).open("rb") as stream:
            content = stream.read(most + 1)
    except (OSError, ValueError) as error:  # ValueError: a name with a null character
        reason = getattr(error, "strerror", None) or error
        raise DescriptionError(f"can't read '{path}': {reason}") from None
    if len(content) > most:
        raise DescriptionError(f"{path} is larger than {most // 1_000_000} MB: no {what}")
    return content


def read_text(path: str | os.PathLike[str], most: int, what: str = "description", form: str = "text") -> str:
    """The same as text in UTF-8; `form` is what it should be, such as YAML."""
    try:
        return read_bytes(path, most, what).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DescriptionError(f"{path}: not {form}: the file is not text in UTF-8") from None


def read_member(path: str | os.PathLike[str], name: str, most: int, what: str) -> bytes:
    """A file in an archive (ZIP), never more than `most` bytes of it, whatever it would be unpacked into."""
    try:
        _check_directory(path)
        with zipfile.ZipFile(path) as archive, archive.open(name) as stream:
            content = stream.read(most + 1)
    except Exception as error:  # what zipfile and those that unpack raise shares no class
        said = " ".join(str(error).strip("'\"").split())[:200] or "it is cut off"
        raise CutjointError(f"'{path}' is not {what}: {said}") from None
    if len(content) > most:
        raise CutjointError(f"'{path}' is not {what}: {name} is larger than {most // 1_000_000} MB")
    return content


def _check_directory(path: str | os.PathLike[str]) -> None:
    """Raise ValueError for an archive whose list of files, which is read as a whole, is too long."""
    with Path(path).open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(size - 2**16 - 50, 0))
        tail = stream.read(2**16 + 50)
    at = tail.rfind(b"PK\5\6")
    listed = int.from_bytes(tail[at + 12 : at + 16], "little") if at >= 0 else 0
    if listed > LARGEST_DIRECTORY or tail[max(at - 20, 0) :].startswith(b"PK\6\7"):
        raise ValueError("it has too many files")


def check_xml(content: bytes, most: int = 2_000_000, deepest: int = 200) -> None:
    """Raise ValueError for XML with a document type, where entities are declared, or too many elements."""
    count = depth = 0

    def start(*_: object) -> None:
        nonlocal count, depth
        count, depth = count + 1, depth + 1
        if count > most or depth > deepest:
            raise ValueError("it has too many elements, or too deep in one another")

    def end(*_: object) -> None:
        nonlocal depth
        depth -= 1

    def refuse(*_: object) -> NoReturn:
        raise ValueError(NO_DOCTYPE)

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.Parse(content, True)


def find_inside(name: str, folders: Iterable[Path], base: Path | None = None) -> Path:
    """The file that a name means, links resolved, if it lies in one of the folders.

    A relative name starts at `base`, or else at each of the folders in turn.
    """
    folders = [folder.resolve() for folder in folders]
    outside = False
    for start in folders if base is None else [base]:
        try:
            found = (start / name).resolve()
            allowed = any(found.is_relative_to(folder) for folder in folders)
            if allowed and found.is_file():
                return found
            outside |= not allowed
        except (OSError, ValueError, RuntimeError):  # too long, a null character, a circle of links
            continue
    if outside:
        raise CutjointError(f"'{name}' is outside the folder of the file; copy it there")
    raise CutjointError(f"there is no file '{name}'")
