#!/usr/bin/env python
"""Django's command line for Homing."""

import os
import sys


def main() -> None:
    """Run one management command; a missing database ends it with one sentence."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "newsletter_site.settings")
    from django.core.management import execute_from_command_line
    from django.db import OperationalError, ProgrammingError

    if "--traceback" not in sys.argv:
        from newsletter_site.logs.uncaught_exceptions import install_exception_hooks

        install_exception_hooks()
    try:
        try:
            execute_from_command_line(sys.argv)
        finally:
            from newsletter_site.operations.metrics.flush_metrics import flush_at_exit

            flush_at_exit()
    except OperationalError as error:
        if "--traceback" in sys.argv:
            raise
        found = str(error).splitlines()[0].rstrip(".")
        sys.exit(f"homing: the database did not answer: {found}. Look at DATABASE_URL.")
    except ProgrammingError as error:
        if "--traceback" in sys.argv or type(error.__cause__).__name__ != "UndefinedTable":
            raise
        sys.exit("homing: the tables are not there yet, or not all of them: run ./homing migrate.")
    except UnicodeEncodeError:
        no_text = [found for found in map(os.fsencode, sys.argv) if not _is_utf8(found)]
        if "--traceback" in sys.argv or not no_text:
            raise
        found = no_text[0].decode(errors="backslashreplace")
        sys.exit(f"homing: “{found}” on the command line is no UTF-8 text; give it as UTF-8.")


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
        print("Broken off.", file=sys.stderr)
        sys.exit(130)
