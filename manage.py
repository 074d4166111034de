#!/usr/bin/env python
"""Django's command line for Homing."""

import os
import re
import signal
import sys
from typing import Any

STOPPING_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def main() -> None:
    """Run one management command. Errors of the database end it with one sentence."""
    if sys.argv[1:2] == ["deliver"]:
        _end_on_signals()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "newsletter_site.settings")
    from django.core.management import ManagementUtility, base
    from django.db import OperationalError, ProgrammingError

    if "--traceback" not in sys.argv:
        from newsletter_site.logs.uncaught_exceptions import install_exception_hooks

        install_exception_hooks()

    # Django begins the line of an error with the name of its class.
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
        from delivery.monitoring.database_fault import cause_of

        if "--traceback" in sys.argv:
            raise
        found = cause_of(error).partition(": ")[2].rstrip(".?")
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


def _end_on_signals() -> None:
    """End a worker with exit code 0 on a signal, until it handles signals itself.

    Nothing is claimed yet. Loading Django takes a second, and the database may not answer.
    """
    for number in STOPPING_SIGNALS:
        signal.signal(number, lambda *_: os._exit(0))
    # `homing` blocked them. A signal that came since then takes effect now.
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
