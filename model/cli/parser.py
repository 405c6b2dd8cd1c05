"""Reading a command line: as argparse does, but lists leave the mechanism its word, and -60,30 is a value."""

import argparse
import difflib
import os
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NoReturn

from ..base import annexes


class Parser(argparse.ArgumentParser):
    """An option that takes several words, such as `--trace foot leg.yaml`, would take the mechanism too.

    Where one is missing then, the words at the end of such a list that are files or shipped mechanisms are
    given back. `--` before them says the same.
    """

    class _Wrong(Exception):
        pass

    _trying = False

    def __init__(self, **how: Any):
        super().__init__(**how)
        self._negative_number_matcher = re.compile(r"-\.?\d")  # -60,30 is a value too, and so is -10deg

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """The arguments, or an end that says what is wrong."""
        first: argparse.Namespace | None = None
        ours = next((k for k, word in enumerate(words) if word in self._takers), len(words))
        for tried in chain([words], ([*w, *words[ours:]] for w in _given_back(list(words[:ours])))):
            self._trying = True
            try:
                found = self.parse_args(tried)
            except self._Wrong:
                continue
            finally:
                self._trying = False
            if not any(getattr(found, a.dest) is None for a in self._actions if not a.option_strings):
                return found
            first = first or found
        return first or self.parse_args(words)

    @property
    def _takers(self) -> set[str]:
        """Options that take all words after them: these are not ours, and their files no mechanisms."""
        return {o for a in self._actions if a.nargs == argparse.REMAINDER for o in a.option_strings}

    @property
    def options(self) -> list[str]:
        """All spellings of its options."""
        return [option for action in self._actions for option in action.option_strings]

    def error(self, message: str) -> NoReturn:
        if self._trying:
            raise self._Wrong(message)
        for word in re.findall(r"--[\w-]+", message) if message.startswith("unrecognized") else ():
            near = difflib.get_close_matches(word, self.options, n=1)
            if near:
                super().error(f"there is no option '{word}'; did you mean '{near[0]}'?")
        super().error(message)


def _given_back(words: list[str]) -> Iterator[list[str]]:
    """The words with those first that end a list and may be mechanisms: all of these, or the last alone."""
    ends = [k for k in range(1, len(words) + 1) if k == len(words) or words[k].startswith("-")]
    for end in reversed(ends):
        begin = end
        while begin > 1 and _is_mechanism(words[begin - 1]):
            begin -= 1
        for first in sorted({begin, end - 1} if begin < end else ()):
            yield [*words[first:end], *words[:first], *words[end:]]


def _is_mechanism(word: str) -> bool:
    from ..describe.reader import example_names  # help should not wait for it

    endings = (".yaml", ".yml", *dict(annexes.entries("READERS")))
    return word.endswith(endings) or os.path.isfile(word) or word in example_names()
