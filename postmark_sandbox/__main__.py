"""`python -m postmark_sandbox`: the sandbox without a Django project."""

import argparse
import sys

from postmark_sandbox.command_line import add_options, run

if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m postmark_sandbox",
        description="A local server that speaks Postmark's API and keeps every message it accepts.",
    )
    add_options(parser)
    sys.exit(run(vars(parser.parse_args())))
