"""`python -m postmark_sandbox`: the sandbox without Django."""

import argparse
import sys

from postmark_sandbox.command_line import add_options, run


def main() -> int:
    """Reads the options, runs the sandbox, returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m postmark_sandbox",
        description="A local server that speaks Postmark's API and keeps every message it accepts.",
    )
    add_options(parser)
    return run(vars(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
