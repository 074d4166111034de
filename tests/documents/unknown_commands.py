"""Find commands and options that do not exist."""

import re
import shutil
import subprocess
import sys
from functools import cache
from importlib.util import find_spec

from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand, CommandError

from tests.documents.shell_blocks import repository_path, simple_commands
from tests.postgres_cluster import ROOT

# Words in capitals that readers replace.
VALUES = {
    "ISSUE": "00000000-0000-4000-8000-000000000000",
    **dict.fromkeys(("N", "NUMBER"), "1"),
}
BUILT_IN = {":", "cd", "set", ".", "export", "umask", "kill", "function", "bash"}
# Programs by the Debian package that has them. A page says to install all but the first two rows.
PROGRAMS_OF = {
    "essential": {
        "apt-get",
        "basename",
        "cat",
        "cp",
        "grep",
        "install",
        "ln",
        "mkdir",
        "runuser",
        "sort",
    },
    "systemd": {"systemctl", "journalctl", "tail", "touch", "adduser"},
    "postgresql": {
        *("createdb", "createuser", "psql", "pg_dump", "pg_restore", "pg_config"),
        *("pg_basebackup", "pg_verifybackup"),
    },
    "nginx": {"nginx"},
    "certbot": {"certbot"},
    "gh": {"gh"},
    "git": {"git"},
    "curl": {"curl"},
    "jq": {"jq"},
    "prometheus": {"promtool"},
}
NEED_NO_INSTALLATION = {"essential", "systemd"}
FOREIGN_UNITS = {"nginx", "prometheus", "postgresql"}
COMPOSE = {
    "build": set(),
    "down": {"--volumes"},
    "exec": {"-T", "--user"},
    "logs": {"--follow", "--no-log-prefix", "--tail"},
    "ps": {"--all"},
    "restart": set(),
    "run": {"--rm", "--no-deps", "--user", "--entrypoint", "-T"},
    "stop": set(),
    "up": {"--build", "--detach", "--no-deps", "--wait"},
}
VALUED_OPTIONS = {"--user", "--tail", "--entrypoint"}


def problems(words: list[str], functions: frozenset[str] = frozenset()) -> list[str]:
    """Return what is wrong with a command, in sentences."""
    program, *rest = words
    match program.replace("/opt/homing/", "./"):
        case "./homing" | "./homing-compose" | "manage.py":
            found = _problems_of_homing(rest)
        case "python":
            found = _problems_of_python(rest)
        case "make":
            targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
            found = [] if rest[0] in targets else [f"make has no target {rest[0]}"]
        case "docker":
            found = _problems_of_compose(rest)
        case _:
            found = _problems_of_program(program, rest, functions)
    files = filter(None, map(repository_path, words))
    found += [f"{path} does not exist" for path in files if not list(ROOT.glob(_below(path)))]
    return found


def _below(path: object) -> str:
    return str(path).removeprefix(f"{ROOT}/")


@cache
def command(name: str) -> BaseCommand | None:
    """Return a command of manage.py."""
    # The settings add the app of this command where it is typed.
    commands = get_commands() | {"sandbox": "postmark_sandbox"}
    return load_command_class(commands[name], name) if name in commands else None


def _problems_of_homing(words: list[str]) -> list[str]:
    name, *arguments = [VALUES.get(word, word) for word in words] or ["help"]
    if name == "test":
        others = [one for one in arguments if one not in ("--all", "--changed", "--quick")]
        return _unknown_options((sys.executable, "-m", "pytest", "--help"), others)
    if name in ("help", "--version"):
        return []
    found = command(name)
    if found is None:
        return [f"./homing has no command {name}"]
    try:
        found.create_parser("./homing", name).parse_args(arguments)
    except (CommandError, SystemExit) as refused:
        return [f"./homing {name}: {refused}"]
    return []


def _problems_of_python(words: list[str]) -> list[str]:
    if words[0] == "manage.py":
        return _problems_of_homing(words[1:])
    if words[0] != "-m":
        return []
    return [] if find_spec(words[1]) else [f"there is no module {words[1]}"]


def _problems_of_compose(words: list[str]) -> list[str]:
    if words[0] != "compose":
        return [f"docker {words[0]} is not known here"]
    subcommand, is_value = "", False
    for number, word in enumerate(words[1:], 1):
        if is_value:
            is_value = False
        elif word.startswith("-"):
            name = word.split("=")[0]
            if name not in COMPOSE.get(subcommand, ()):
                return [f"docker compose {subcommand} has no option {name}"]
            is_value = name in VALUED_OPTIONS and "=" not in word
        elif not subcommand:
            if word not in COMPOSE:
                return [f"docker compose {word} is not known here"]
            subcommand = word
        elif word not in _services():
            return [f"docker-compose.yml has no service {word}"]
        elif subcommand in ("run", "exec"):
            return problems(words[number + 1 :]) if words[number + 1 :] else []
    return []


@cache
def _services() -> set[str]:
    return set(re.findall(r"^  ([a-z]+):$", (ROOT / "docker-compose.yml").read_text(), re.M))


def _problems_of_program(program: str, words: list[str], functions: frozenset[str]) -> list[str]:
    if program.startswith((".", "/")) and len(program) > 1:
        return [] if (ROOT / program).exists() else [f"{program} does not exist"]
    if program in BUILT_IN | functions:
        return []
    if not any(program in programs for programs in PROGRAMS_OF.values()):
        return [f"{program} is not known. Say which package has it"]
    if program == "systemctl" or (program == "journalctl" and "-u" in words):
        return _problems_of_units(program, words)
    if shutil.which(program) is None or program in ("apt-get", "certbot", "nginx", "runuser"):
        return []
    if program == "git":
        at = 2 if words[0] == "-C" else 0
        return _unknown_options(("git", words[at], "-h"), words[at:])
    all_of_it = ("all",) if program == "curl" else ()
    return _unknown_options((program, "--help", *all_of_it), words)


def _problems_of_units(program: str, words: list[str]) -> list[str]:
    units = words[2:] if program == "systemctl" else [words[words.index("-u") + 1]]
    names = {path.name for path in (ROOT / "deploy" / "systemd").iterdir()}
    patterns = [unit for unit in units if not unit.startswith("-") and unit not in FOREIGN_UNITS]
    return [
        f"there is no unit {unit}"
        for unit in patterns
        if "*" not in unit
        and not {
            name for name in (unit, f"{unit}.service") if re.sub("@[0-9]+", "@", name) in names
        }
    ]


@cache
def _help(asked: tuple[str, ...]) -> str:
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def _unknown_options(asked: tuple[str, ...], words: list[str]) -> list[str]:
    """Return a sentence for each long option that is not in the help."""
    options = [word.split("=")[0] for word in words if re.match(r"--[a-z]", word)]
    text = re.sub(r"--\[no-\]", "--", _help(asked))
    return [
        f"{' '.join(asked)} does not name {option}"
        for option in options
        if not re.search(rf"{option}\b", text)
    ]


def problems_of_script(script: str) -> list[str]:
    """Return what is wrong with a script: syntax first, then each command."""
    checked = subprocess.run(
        ["bash", "-n"], input=script, capture_output=True, text=True, check=False
    )
    if checked.returncode or checked.stderr:
        return [checked.stderr.strip()]
    functions = frozenset(re.findall(r"^(\w+)\(\) \{", script, re.MULTILINE))
    return [
        sentence for words in simple_commands(script) for sentence in problems(words, functions)
    ]


def packages_of(script: str) -> set[str]:
    """Return the packages that a script needs and a bare system does not have."""
    used = {words[0] for words in simple_commands(script)}
    return {
        package
        for package, programs in PROGRAMS_OF.items()
        if package not in NEED_NO_INSTALLATION and used & programs
    }
