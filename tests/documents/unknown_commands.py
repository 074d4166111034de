"""Find names that do not exist: commands and options of Homing, modules, files."""

import re
import subprocess
from functools import cache
from importlib.util import find_spec

from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand, CommandError

from tests.documents.shell_blocks import repository_path, simple_commands
from tests.postgres_cluster import ROOT

# Words in capitals that stand for values, with an example of each value.
VALUES = {
    "ISSUE": "00000000-0000-4000-8000-000000000000",
    **dict.fromkeys(("N", "NUMBER"), "1"),
}


def problems(words: list[str]) -> list[str]:
    """List what is wrong with a command, one sentence for each problem."""
    program, *rest = words
    found: list[str] = []
    match program.replace("/opt/homing/", "./"):
        case "./homing" | "./homing-compose":
            found = _problems_of_homing(rest)
        case "python" if rest[0] == "-m" and not find_spec(rest[1]):
            found = [f"there is no module {rest[1]}"]
        case "make" if not re.search(rf"^{rest[0]}:", (ROOT / "Makefile").read_text(), re.M):
            found = [f"make has no target {rest[0]}"]
    # `manage.py` may follow a command that runs it in a container
    if "manage.py" in words:
        found = _problems_of_homing(words[words.index("manage.py") + 1 :])
    files = filter(None, map(repository_path, words))
    found += [
        f"{path} does not exist"
        for path in files
        if not list(ROOT.glob(str(path.relative_to(ROOT))))
    ]
    return found


@cache
def command(name: str) -> BaseCommand | None:
    """Return a command of manage.py."""
    # The settings install the sandbox's app only when this command is typed.
    commands = get_commands() | {"sandbox": "postmark_sandbox"}
    return load_command_class(commands[name], name) if name in commands else None


def _problems_of_homing(words: list[str]) -> list[str]:
    name, *arguments = [VALUES.get(word, word) for word in words] or ["help"]
    if name in ("help", "--version", "test"):
        return []
    found = command(name)
    if found is None:
        return [f"./homing has no command {name}"]
    try:
        found.create_parser("./homing", name).parse_args(arguments)
    except (CommandError, SystemExit) as refused:
        return [f"./homing {name}: {refused}"]
    return []


def problems_of_script(script: str) -> list[str]:
    """List what is wrong with a script: its syntax first, then each command."""
    checked = subprocess.run(
        ["bash", "-n"], input=script, capture_output=True, text=True, check=False
    )
    if checked.returncode or checked.stderr:
        return [checked.stderr.strip()]
    return [sentence for words in simple_commands(script) for sentence in problems(words)]
