"""A program that uses the embedded PostgreSQL, as a web process or a worker would.

Tests start this program, talk to it over its pipes, and end or kill it. Each line of input is one
JSON object, and each answer is one line, a JSON value. When the input ends, the program exits
normally.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import django
from django.conf import settings


def main(packages: str, durable: str, *data_dirs: str) -> None:
    """Run commands from stdin on the databases `one` and `two` in the data folders."""
    sys.path.insert(0, packages)
    from newsletter_site.embedded_postgres import database_settings

    entries = [database_settings(Path(path), durable=durable == "durable") for path in data_dirs]
    settings.configure(DATABASES={"default": {}} | dict(zip(("one", "two"), entries, strict=False)))
    django.setup()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    for line in sys.stdin:
        print(json.dumps(answer(**json.loads(line))), flush=True)


def answer(do: str, **arguments: Any) -> Any:
    deeds = (sql, hang_up, fork, fork_and_stay, cycle, become, shell)
    return {deed.__name__: deed for deed in deeds}[do](**arguments)


def sql(text: str, alias: str = "one") -> Any:
    """Run a statement; return its first row, or disconnect and return the error."""
    from django.db import OperationalError, connections

    try:
        with connections[alias].cursor() as cursor:
            cursor.execute(text)
            return cursor.fetchone() if cursor.description else None
    except OperationalError as error:
        connections[alias].close()
        return {"error": str(error)}


def hang_up() -> None:
    from django.db import connections

    connections.close_all()


def fork() -> int:
    """Fork a child that ends normally; return its exit code."""
    child = os.fork()
    if child == 0:
        sys.exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def fork_and_stay() -> int:
    """Fork a child that never connects and never ends; return its process id."""
    is_there, says_so = os.pipe()
    child = os.fork()
    if child == 0:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        os.write(says_so, b".")
        signal.pause()
    os.read(is_there, 1)
    return child


def cycle(times: int) -> list[Any]:
    """Connect and disconnect many times; return the result of each query."""
    from django.db import connections

    from newsletter_site.embedded_postgres import shared_usage

    answers = []
    for number in range(times):
        answers.append(sql(f"SELECT {number}"))
        connections.close_all()
        shared_usage.leave_all()
    return answers


def become(uid: int, gid: int) -> int:
    """Give up root's rights permanently, and continue as a normal user."""
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)
    return os.geteuid()


def shell(text: str) -> int:
    """Do what `manage.py dbshell -- -c TEXT` does; psql's output goes to stderr."""
    from django.db import connections

    client = connections["one"].client
    out = os.dup(1)
    os.dup2(2, 1)
    try:
        client.runshell(["-At", "-c", text])
    finally:
        os.dup2(out, 1)
    return 0


if __name__ == "__main__":
    main(*sys.argv[1:])
