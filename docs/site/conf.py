"""Settings of the site that `make docs` builds: offline, without remote fonts or scripts."""

from dataclasses import is_dataclass
from importlib.metadata import version as installed
from typing import Any

project = "Cutjoint"
author = "Cutjoint contributors"
copyright = author
release = version = installed("cutjoint")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
autodoc_typehints = "signature"
html_theme = "furo"
html_title = "Cutjoint"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
suppress_warnings = ["myst.header", "misc.highlighting_failure"]


def plain(app: Any, what: str, name: str, item: Any, options: Any, signature: str, result: str) -> Any:
    """Classes of plain fields go without their signature, which repeats all that is known of each field."""
    return ("", "") if what == "class" and is_dataclass(item) else None


def setup(app: Any) -> None:
    app.connect("autodoc-process-signature", plain)
