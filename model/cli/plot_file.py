"""`--plot` of commands that can plot an output over another."""

import re
from pathlib import Path


class PlotFile(str):
    """The file of a plot; `over` and `shown` name outputs if it is one of these over another.

    Written FILE, X:Y or FILE=X:Y,Y; without a file the names make one.
    """

    over: str = ""
    shown: tuple[str, ...] = ()

    def __new__(cls, text: str) -> "PlotFile":
        file, _, pair = text.rpartition("=")
        x, colon, y = pair.partition(":")
        if not (x and colon and y) or Path(text).suffix.lower() in (".png", ".svg", ".pdf"):
            return super().__new__(cls, text)
        made = super().__new__(cls, file or re.sub(r"[^\w]+", "_", f"{y}_over_{x}").strip("_") + ".png")
        made.over, made.shown = x, tuple(y.split(","))
        return made
