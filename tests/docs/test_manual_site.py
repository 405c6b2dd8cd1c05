"""The manual as a site: it builds without a warning, loads nothing from elsewhere, and its links lead on."""

from __future__ import annotations

import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r'(?:href|src)="([^"]+)"')


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, str]:
    """All pages of the site with one example in its gallery."""
    pytest.importorskip("furo")
    target = tmp_path_factory.mktemp("site")
    words = [sys.executable, str(ROOT / "docs" / "site" / "build.py"), str(target), "fourbar"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {path: path.read_text("utf-8") for path in (target / "html").glob("*.html")}


def test_every_page_of_the_manual_is_there(pages: dict[Path, str]) -> None:
    names = {path.stem for path in pages}
    wanted = {path.stem for path in (ROOT / "docs").glob("*.md")}
    assert wanted | {"index", "gallery", "commands", "outputs", "changelog"} <= names


def test_nothing_is_loaded_from_elsewhere(pages: dict[Path, str]) -> None:
    for path, text in pages.items():
        loaded = re.findall(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="(https?:[^"]+)"', text)
        assert not loaded, path.name


def test_links_of_the_site_lead_somewhere(pages: dict[Path, str]) -> None:
    for path, text in pages.items():
        for link in {unescape(found) for found in LINK.findall(text)}:
            if re.match(r"(https?|mailto|data|javascript):", link):
                continue
            file, _, anchor = link.partition("#")
            target = (path.parent / unquote(file.partition("?")[0])).resolve() if file else path
            assert target.exists(), f"{path.name}: {link}"
            if anchor and target in pages and anchor not in ("", "top"):
                assert f'id="{unquote(anchor)}"' in pages[target], f"{path.name}: {link}"


def test_the_reference_knows_the_interface(pages: dict[Path, str]) -> None:
    (reference,) = (text for path, text in pages.items() if path.stem == "api")
    for name in ("Simulation", "linearize", "Trajectory", "sensitivities", "verify", "export"):
        assert re.search(rf'id="{name.lower()}"', reference), name
