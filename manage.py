#!/usr/bin/env python
"""Django's command line for Homing."""

import os
import re
import signal
import sys
from typing import Any

STOPPING_SIGNALS = (signal.SIGTERM, signal.SIGINT)
# Commands of Django that Homing does not offer, with the reason and what to do instead.
_NO_ROWS = "It would write or delete rows without Homing's rules. {} instead."
NOT_OFFERED = {
    "flush": _NO_ROWS.format("Drop the database and create it again"),
    "sqlflush": _NO_ROWS.format("Drop the database and create it again"),
    "addstatictoken": "Nobody would see who signs in. Run ./homing remove_second_factor instead.",
    "sendtestemail": "Homing sends through a provider. Send a test letter on the desk instead.",
    "loaddata": _NO_ROWS.format("Restore a backup (docs/restore.md)"),
    "test": "It knows none of Homing's tests. Run ./homing test instead.",
    "testserver": "It needs fixtures, which Homing does not have. Run ./homing demo instead.",
}


def main() -> None:
    """Run one management command. A database error ends the command with one sentence."""
    if sys.argv[1:2] in (["deliver"], ["serve"]):
        _end_on_signals()
    if sys.argv[1:] in (["--version"], ["version"]):
        _print_versions()
        return
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "newsletter_site.settings")
    from django.core.management import ManagementUtility, base
    from django.db import OperationalError, ProgrammingError

    _withdraw_commands()
    if "--traceback" not in sys.argv:
        from newsletter_site.logs.uncaught_exceptions import install_exception_hooks

        install_exception_hooks()

    # Django writes the name of the error's class before the error: “homing: …”.
    base.CommandError.__name__ = "homing"

    class NamedParser(base.CommandParser):
        """Write `./homing COMMAND` in usage lines, and leave out Django's own `--version`."""

        def __init__(self, *, prog: str, **options: Any) -> None:
            super().__init__(prog=re.sub(r"^homing\b", "./homing", prog), **options)

        def add_argument(self, *names: Any, **options: Any) -> Any:
            if options.get("action") != "version":
                return super().add_argument(*names, **options)
            return None

    base.CommandParser = NamedParser  # type: ignore[assignment, misc]
    if sys.argv[1:2] not in (["check"], ["migrate"], ["runserver"]):
        # Django would print the warnings of its checks before the output of every command. In
        # Homing, the long-running processes log these warnings once (delivery/check_settings.py).
        # An error that a check finds still ends the command.
        base.BaseCommand.check = _refuse_errors(base.BaseCommand.check)  # type: ignore[method-assign]
    try:
        try:
            # Help and errors show `./homing`, as the documentation does.
            utility = ManagementUtility(["./homing", *sys.argv[1:]])
            utility.prog_name = "./homing"
            utility.execute()
        finally:
            from newsletter_site.operations.metrics.flush_metrics import flush_at_exit

            flush_at_exit()
    except OperationalError as error:
        from delivery.monitoring.database_fault import cause_of, sqlstate_of

        if "--traceback" in sys.argv:
            raise
        found = cause_of(error).partition(": ")[2].rstrip(".?")
        if sqlstate_of(error):  # A failure to connect has no code.
            sys.exit(f"homing: the database reported an error: {found}.")
        sys.exit(f"homing: the database cannot be reached: {found}. Check DATABASE_URL.")
    except ProgrammingError as error:
        if "--traceback" in sys.argv or type(error.__cause__).__name__ != "UndefinedTable":
            raise
        sys.exit("homing: the database lacks some or all tables. Run ./homing migrate.")
    except UnicodeEncodeError:
        no_text = [found for found in map(os.fsencode, sys.argv) if not _is_utf8(found)]
        if "--traceback" in sys.argv or not no_text:
            raise
        found = no_text[0].decode(errors="backslashreplace")
        sys.exit(f"homing: “{found}” on the command line is not UTF-8. Type it as UTF-8.")


def _withdraw_commands() -> None:
    """Remove the commands that Homing does not offer. If one is typed, exit."""
    from django.core import management

    if sys.argv[1:2] and sys.argv[1] in NOT_OFFERED:
        sys.exit(f"homing: there is no command {sys.argv[1]}. {NOT_OFFERED[sys.argv[1]]}")
    find = management.find_commands
    management.find_commands = lambda folder: [  # type: ignore[assignment]
        name for name in find(folder) if name not in NOT_OFFERED
    ]


def _refuse_errors(check: Any) -> Any:
    """Return a `check` for commands that prints nothing unless there is an error."""

    def refuse_errors(command: Any, *args: Any, **options: Any) -> None:
        from django.core.checks import run_checks

        found = run_checks(tags=options.get("tags"))
        if any(each.is_serious() and not each.is_silenced() for each in found):
            check(command, *args, **options)

    return refuse_errors


def _print_versions() -> None:
    """Print the versions of Homing, Python, Django and libpq. This needs no settings."""
    import django
    import psycopg

    from newsletter_site.operations.release import running_release

    print(f"Homing {running_release()}")
    python = ".".join(map(str, sys.version_info[:3]))
    number = psycopg.pq.version()
    print(f"Python {python}, Django {django.get_version()}, libpq {number // 10000}.{number % 100}")


def _end_on_signals() -> None:
    """End with exit code 0 on a signal, until the command handles signals itself.

    This is safe, because the process has not claimed any work yet. Without this function, a signal
    would have to wait, because loading Django takes a second and the database may not answer.
    """
    for number in STOPPING_SIGNALS:
        signal.signal(number, lambda *_: os._exit(0))
    # The script `homing` blocked these signals. A signal that arrived while it was blocked takes
    # effect now.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING_SIGNALS)


def _is_utf8(argument: bytes) -> bool:
    try:
        argument.decode()
    except UnicodeDecodeError:
        return False
    return True


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        sys.exit(130)
