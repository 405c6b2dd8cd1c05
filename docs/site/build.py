"""Builds the site from the manual, the docstrings, the tables of names, and every example.

python docs/site/build.py TARGET [NAME ...]

The manual's pages are taken as they are. Written here, each from its one definition: a gallery with picture,
motion and numbers of all examples, or of those named; all commands with their help; all outputs; the
notebooks, which are run if all is built or `notebooks` is named.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cutjoint import Simulation, list_examples, load
from cutjoint.model.cli.main import commands, main
from sphinx.cmd.build import build_main

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# The manual, in the order in which it is read; pages that are not named come last.
CHAPTERS = {
    "Start": ("getting_started", "tasks", "describing", "importing", "coming_from", "troubleshooting"),
    "Use": ("view", "inputs", "kinematics", "propagation", "batch", "fmu", "ros", "hil"),
    "Understand": ("theory", "glossary", "singularities", "cartesian", "papers", "architecture"),
}
OUTPUTS = """# Outputs

What can be read of a mechanism, here of `stewart`; `cutjoint show NAME --outputs` lists those of yours.
Vectors are in world axes.
"""
GALLERY = """The mechanisms that ship, which every command knows by name, and some files to begin one's own
with (`cutjoint simulate docs/gallery/scissor_lift.yaml`), whose hand calculations are tests."""
MOTION = 2.0  # seconds that an example moves in the gallery


def build(target: Path, names: Iterable[str]) -> int:
    """Write the sources, then let Sphinx make pages of them; warnings are failures."""
    source = target / "source"
    shutil.rmtree(target, ignore_errors=True)
    (source / "_static").mkdir(parents=True)
    shutil.copy(HERE / "conf.py", source)
    (source / "_static" / "site.css").write_text("pre { white-space: pre-wrap; overflow-wrap: anywhere; }\n")
    for path in (ROOT / "docs").iterdir():
        if path.suffix in (".png", ".svg", ".gif"):
            shutil.copy(path, source)
        elif path.suffix == ".md":
            _page(source, path.stem, _inside(path.read_text("utf-8")))
    for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"):
        _page(source, name.removesuffix(".md").lower(), _inside((ROOT / name).read_text("utf-8")))
    _commands(source)
    _outputs(source)
    chosen = list(names)
    _notebooks(source, run=not chosen or "notebooks" in chosen)
    _gallery(source, chosen)
    _index(source)
    return int(build_main(["-q", "-W", "--keep-going", "-b", "html", str(source), str(target / "html")]))


def _page(source: Path, name: str, text: str) -> None:
    (source / f"{name}.md").write_text(text, encoding="utf-8")


def _inside(text: str) -> str:
    """A page of the repository's root as one of the site: links lead to pages here."""
    text = re.sub(r"\]\(docs/([^)]+)\)", r"](\1)", text)
    text = re.sub(r"\]\((CHANGELOG|CONTRIBUTING|SECURITY)\.md\)", lambda m: f"]({m[1].lower()}.md)", text)
    text = re.sub(r"\]\((?:docs/)?notebooks/(\w+)\.ipynb\)", r"](notebook_\1.md)", text)
    return text.replace("see [LICENSE](LICENSE)", "see LICENSE")


def _index(source: Path) -> None:
    """README as the first page, with the list of all others."""
    text = _inside((ROOT / "README.md").read_text("utf-8"))
    made = {path.stem for path in source.glob("*.md")}
    listed = {page for pages in CHAPTERS.values() for page in pages}
    notebooks = sorted(name for name in made if name.startswith("notebook_"))
    made -= {*listed, *notebooks} | {
        "gallery",
        "commands",
        "outputs",
        "changelog",
        "contributing",
        "security",
    }
    groups = {
        **{
            title: [page for page in pages if (source / f"{page}.md").exists()]
            for title, pages in CHAPTERS.items()
        },
        "Notebooks": notebooks,
        "Look up": ["gallery", "commands", "outputs", *sorted(made)],
        "Project": ["changelog", "contributing", "security"],
    }
    trees = (
        "```{toctree}\n:hidden:\n:caption: " + title + "\n:maxdepth: 1\n\n" + "\n".join(pages) + "\n```\n"
        for title, pages in groups.items()
    )
    _page(source, "index", text + "\n" + "\n".join(trees))


def _notebooks(source: Path, run: bool) -> None:
    """Every notebook as a page: its texts, its code and, if it is run, what its cells show."""
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        if run:
            import nbformat
            from nbclient import NotebookClient

            folder = source.parent / "notebooks"
            folder.mkdir(exist_ok=True)
            shutil.copytree(ROOT / "docs" / "gallery", source.parent / "gallery", dirs_exist_ok=True)
            notebook = nbformat.read(path, as_version=4)
            NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}}).execute()
            cells = notebook.cells
        _page(source, f"notebook_{path.stem}", "\n\n".join(map(_cell, cells)) + "\n")


def _cell(cell: Any) -> str:
    text = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return _inside(text.replace("](../", "]("))
    parts = [f"```python\n{text}\n```"]
    for output in cell["outputs"]:
        data = output.get("data", {})
        if "text/html" in data:
            parts.append(f"````{{raw}} html\n{''.join(data['text/html'])}\n````")
        elif "image/png" in data:
            parts.append(f"![result](data:image/png;base64,{''.join(data['image/png']).strip()})")
        else:
            said = "".join(output.get("text", "") or data.get("text/plain", ""))
            parts.append(f"```text\n{said.rstrip()}\n```")
    return "\n\n".join(parts)


def _said(words: list[str]) -> str:
    """What a command prints."""
    with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.redirect_stderr(io.StringIO()):
        code = main(words)
    if code:
        raise SystemExit(f"'cutjoint {' '.join(words)}' ended with {code}")
    return printed.getvalue()


def _commands(source: Path) -> None:
    parts = [f"## {name}\n\n```text\n{_said([name, '--help'])}```\n" for name in commands()]
    _page(source, "commands", "# Commands\n\n" + "\n".join(parts))


def _outputs(source: Path) -> None:
    """All outputs of an example, as its table of names has them."""
    lines = [OUTPUTS, "| output | size | unit | what it is |", "|---|---|---|---|"]
    seen = set[str]()
    for v in Simulation("stewart", compile=False).variables():
        words = v.name.split(".")
        kind = ".".join([words[0], "NAME", *words[2:]]) if len(words) > 2 else v.name
        if kind not in seen:
            seen.add(kind)
            lines.append(f"| `{kind}` | {v.size} | {', '.join(dict.fromkeys(v.units))} | {v.about} |")
    _page(source, "outputs", "\n".join(lines) + "\n")


def _gallery(source: Path, names: list[str]) -> None:
    """Every example with its picture, its motion, and what `show` says of it."""
    folder = source / "_static" / "gallery"
    folder.mkdir()
    more = {str(path): load(path).description for path in sorted((ROOT / "docs" / "gallery").glob("*.yaml"))}
    parts = ["# Gallery", "", GALLERY]
    for title, found in (("Shipped", list_examples()), ("Files to begin with", more)):
        parts += ["", f"## {title}"]
        for which, about in found.items():
            name = Path(which).stem
            if not names or name in names:
                parts += _shown(folder, name, which, about)
    _page(source, "gallery", "\n".join(parts) + "\n")


def _shown(folder: Path, name: str, which: str, about: str) -> list[str]:
    """One mechanism: picture, motion, facts, and the file if it is one."""
    said = _said(["show", which, "--picture", str(folder / f"{name}.png")])
    facts = said[said.index("\n\n", said.index("  joint")) :].partition("\npicture:")[0].strip("\n")
    _said(["simulate", which, "--time", str(MOTION), "--animate", str(folder / f"{name}.html")])
    lines = ["", f"### {name}", "", f"{about[0].upper()}{about[1:]}.", ""]
    lines += [
        f"![{name}](_static/gallery/{name}.png)",
        "",
        f'<a href="_static/gallery/{name}.html">See it move</a>',
    ]
    lines += ["", f"```text\n{facts}\n```"]
    if Path(which).is_file():
        lines += ["", f"```yaml\n{Path(which).read_text('utf-8')}```"]
    return lines


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1]).resolve(), sys.argv[2:]))
