"""What the glossary calls wrong does not occur in help, messages and manual."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("model", "fmu", "ros", "native", "realtime", "benchmarks", "examples")
CODE = re.compile(r"`[^`]*`|\w+\(\)|\w+\.\w+")  # names of our own are no prose
GENERATED = ("api.md", "glossary.md")  # the first is of docstrings, the second says the words


def wrong_words() -> list[str]:
    """Patterns of the left column of the glossary's last table."""
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").split("## Words we do not use")[1]
    found = []
    for row in re.findall(r"^\| ([^|]+) \| [^|]+ \|$", text, flags=re.M):
        if row not in ("not", "---"):
            alone = "(?<!degree of )(?<!degrees of )(?<!… of )(?<!\\(s\\) of )" if "(alone)" in row else ""
            words = row.replace(" (alone)", "").split(", ")
            found += [rf"{alone}\b{re.escape(word)}\b" for word in words]
    return found


def sentences() -> Iterator[tuple[str, str]]:
    """Where it stands, and the text: pages, descriptions, and every text of the sources but docstrings."""
    pages = [ROOT / "README.md", *(p for p in (ROOT / "docs").glob("*.md") if p.name not in GENERATED)]
    pages += [*(ROOT / "examples").glob("*.yaml"), *(ROOT / "docs" / "gallery").glob("*.yaml")]
    for path in pages:
        for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            yield f"{path.name}:{n}", line
    for path in (p for room in ROOMS for p in (ROOT / room).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            texts = [node] if isinstance(node, ast.Constant) and id(node) not in docs else []
            if isinstance(node, ast.JoinedStr):
                whole = "".join(x.value if isinstance(x, ast.Constant) else "…" for x in node.values)
                yield f"{path.name}:{node.lineno}", whole
            for text in texts:
                if isinstance(text.value, str) and text.value.count(" ") > 1 and not _within(tree, text):
                    yield f"{path.name}:{text.lineno}", text.value


def _within(tree: ast.AST, text: ast.Constant) -> bool:
    """Whether a text is a part of a formatted one, which is looked at as a whole."""
    key = "_formatted_parts"
    if not hasattr(tree, key):
        found = {id(x) for n in ast.walk(tree) if isinstance(n, ast.JoinedStr) for x in n.values}
        setattr(tree, key, found)
    return id(text) in getattr(tree, key)


@pytest.fixture(scope="module")
def texts() -> list[tuple[str, str]]:
    return [(place, CODE.sub("", text)) for place, text in sentences()]


@pytest.mark.parametrize("word", wrong_words())
def test_a_word_that_the_glossary_calls_wrong_is_not_used(word: str, texts: list[tuple[str, str]]) -> None:
    assert not [f"{place}: {text}" for place, text in texts if re.search(word, text)]


def test_the_texts_are_found(texts: list[tuple[str, str]]) -> None:
    assert len(texts) > 5000 and any("did you mean" in text for _, text in texts)
