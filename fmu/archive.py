"""The FMU as a file: a zip of the same bytes for the same content, with a GUID made from it."""

import hashlib
import os
import zipfile
from collections.abc import Mapping

from ..model.base.files import write_atomically


def content_token(texts: Mapping[str, str]) -> str:
    """GUID made from the content, so that a description and a binary of different exports never mix."""
    digest = hashlib.sha256("\0".join(f"{n}\0{t}" for n, t in sorted(texts.items())).encode()).hexdigest()
    return f"{{{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:32]}}}"


def write_zip(path: str | os.PathLike[str], contents: Mapping[str, bytes]) -> None:
    with (
        write_atomically(path) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name in sorted(contents):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if name.startswith("binaries/") else 0o644) << 16
            entry.create_system = 3
            archive.writestr(entry, contents[name])
