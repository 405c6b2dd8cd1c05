"""Which files are ours to replace: those that carry our mark and have not been changed since.

A command never replaces a file that somebody else made. What we write says so inside, in the way its format
has for it: a comment with a checksum in text that people edit, a comment or a text chunk in pictures and
archives, quotes around the first title of a table. Who edits such a text makes it his own: the checksum no
longer fits.
"""

import re
import struct
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

from .errors import CutjointError

MARK = "written by cutjoint"
_BYTES = MARK.encode()
_LINE = re.compile(rb'^[^\n]*written by cutjoint, ([0-9a-f]{8})[^\n]*(?:\n|$)|^ "\$comment": [^\n]*\n', re.M)
_SEARCHED = 64_000_000  # bytes at either end; larger files have their mark there


def _signed(comment: str) -> Callable[[bytes], bytes]:
    """Text with a comment as its last line."""

    def sign(data: bytes) -> bytes:
        data = _LINE.sub(b"", data)
        data += b"" if data.endswith(b"\n") else b"\n"
        return data + comment.format(f"{MARK}, {zlib.crc32(data):08x}").encode() + b"\n"

    return sign


def _json(data: bytes) -> bytes:
    data = _LINE.sub(b"", data)
    if not data.startswith(b"{\n"):
        return data
    line = f' "$comment": "{MARK}, {zlib.crc32(data):08x}",\n'
    return b"{\n" + line.encode() + data[2:]


def _png(data: bytes) -> bytes:
    """A text chunk before the last chunk, which is 12 bytes long."""
    if not data.startswith(b"\x89PNG"):
        return data
    chunk = b"tEXtSoftware\0" + _BYTES
    whole = struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
    return data[:-12] + whole + data[-12:]


def _gif(data: bytes) -> bytes:
    """A comment before the trailer, which is one byte."""
    if not data.startswith(b"GIF8"):
        return data
    return data[:-1] + b"\x21\xfe" + bytes([len(_BYTES)]) + _BYTES + b"\0" + data[-1:]


def _mp4(data: bytes) -> bytes:
    return data + struct.pack(">I", 8 + len(_BYTES)) + b"free" + _BYTES


def _zip(data: bytes) -> bytes:
    """An archive's comment, with its length before it."""
    if not data.startswith(b"PK") or data[-2:] != b"\0\0":
        return data
    return data[:-2] + struct.pack("<H", len(_BYTES)) + _BYTES


_WAYS: dict[str, Callable[[bytes], bytes]] = {
    **dict.fromkeys((".yaml", ".yml"), _signed("# {}")),
    **dict.fromkeys((".urdf", ".xml", ".sdf", ".ssv", ".svg", ".html", ".htm"), _signed("<!-- {} -->")),
    **dict.fromkeys((".npz", ".fmu", ".ssp"), _zip),
    **{".json": _json, ".png": _png, ".gif": _gif, ".mp4": _mp4, ".pdf": _signed("% {}")},
    **dict.fromkeys((".h5", ".hdf5"), lambda data: data + _BYTES),
}
_CODE = {".py": _signed("# {}"), ".h": _signed("/* {} */")}


def mark(path: Path) -> None:
    """Put our mark into a file that is not in use yet, if its format has a place for it."""
    way = _WAYS.get(path.suffix.lower())
    if way and (data := path.read_bytes()):
        path.write_bytes(way(data))


def marked_program(data: bytes, ending: str) -> bytes:
    """The content of a source or of a program, with our mark at its end."""
    way = _CODE.get(ending)
    return way(data) if way else data + _BYTES


def is_ours(path: Path) -> bool:
    """Whether we wrote a file, and nobody has changed it since."""
    with path.open("rb") as stream:
        data = stream.read(_SEARCHED)
        if path.stat().st_size > 2 * _SEARCHED:
            stream.seek(-_SEARCHED, 2)
        data += stream.read(_SEARCHED)
    if re.match(rb'"[^",\n]+"(,[^"\n]*)?\r\n', data):
        return True
    signed = _LINE.search(data)
    if signed:
        plain = _LINE.sub(b"", data)
        return f"{zlib.crc32(plain):08x}".encode() in signed[0]
    return _BYTES in data


def check_replaceable(path: Path, read: Iterable[Path] = (), force: bool = False) -> None:
    """Refuse to replace what a command reads, and what is not ours; `force` is the user's own decision."""
    if force or not path.is_file():
        return
    choose = "choose another name, or add --force to replace it"
    if any(other.is_file() and other.samefile(path) for other in read):
        raise CutjointError(f"'{path}' is what this command reads; {choose}")
    try:
        ours = path.stat().st_size == 0 or is_ours(path)
    except OSError as error:
        raise CutjointError(f"can't read '{path}': {error.strerror or error}") from None
    if not ours:
        raise CutjointError(
            f"'{path}' is there, and cutjoint did not write it, or it was changed since; {choose}"
        )
