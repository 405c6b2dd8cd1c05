"""`cutjoint completion`: a script that lets a shell complete commands, options, mechanisms and files."""

import argparse
import importlib

from ..base.errors import CutjointError
from .common import Options, check_name
from .parser import Parser

HELP = "Print a script that completes commands and options in bash, zsh or fish."
EXAMPLE = """
cutjoint completion bash >> ~/.bashrc
cutjoint completion zsh >> ~/.zshrc
cutjoint completion fish > ~/.config/fish/completions/cutjoint.fish
"""
SHELLS = ("bash", "zsh", "fish")
BASH = """_cutjoint() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} words
  case "$COMP_CWORD:${{COMP_WORDS[1]}}" in
    1:*) words="{commands}" ;;
{cases}
  esac
  [[ $COMP_CWORD -gt 1 && $word != -* ]] && words="{names}"
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  [[ $COMP_CWORD -gt 1 && $word != -* ]] && COMPREPLY+=($(compgen -f -- "$word"))
}}
complete -o filenames -F _cutjoint cutjoint
"""


def add_arguments(option: Options) -> None:
    option("shell", "SHELL", "bash, zsh or fish")


def run(args: argparse.Namespace) -> int:
    shell = check_name(args.shell, SHELLS, "SHELL", "shell")
    print(script(shell), end="")
    return 0


def options_of() -> dict[str, list[str]]:
    """Every command and the long options that it takes."""
    from .main import add_arguments as declare
    from .main import commands

    found = {}
    for name, command in commands().items():
        parser = Parser()
        try:
            declare(importlib.import_module(command.module), name, parser)
        except (ImportError, CutjointError):  # what is not installed has no options
            continue
        found[name] = [option for option in parser.options if option.startswith("--")]
    return found


def script(shell: str) -> str:
    """The script for a shell."""
    from ..describe.reader import example_names
    from .main import commands

    options, names = options_of(), " ".join(example_names())
    if shell == "fish":
        lines = ["complete -c cutjoint -n __fish_use_subcommand -f"]
        for name, command in commands().items():
            about = command.help.replace("'", "\\'")
            lines.append(f"complete -c cutjoint -n __fish_use_subcommand -a {name} -d '{about}'")
        for name, own in options.items():
            seen = f"'__fish_seen_subcommand_from {name}'"
            lines += [f"complete -c cutjoint -n {seen} -l {option[2:]}" for option in own]
            lines.append(f"complete -c cutjoint -n {seen} -a '{names}'")
        return "\n".join(lines) + "\n"
    cases = "\n".join(f'    *:{name}) words="{" ".join(own)}" ;;' for name, own in options.items())
    text = BASH.format(commands=" ".join(commands()), cases=cases, names=names)
    return ("autoload -U +X bashcompinit && bashcompinit\n" if shell == "zsh" else "") + text
