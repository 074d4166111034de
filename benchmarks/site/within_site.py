"""Helpers for programs that run within a benchmark's site and database."""

import json
import os
import subprocess
import sys
from typing import Any

import django

from benchmarks.site.site import OF_A_BENCHMARK, ROOT, Site


def within(site: Site, module: str, *words: str, stdin: str = "") -> Any:
    """Run `python -m MODULE WORDS…` with this input; return its last line as JSON."""
    done = subprocess.run(
        [sys.executable, "-m", module, *words],
        cwd=ROOT,
        env=site.environment,
        input=stdin,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{module} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def begin() -> None:
    """Set Django up with the site's settings; each program calls this first.

    The programs publish, sign users in and import, so they refuse to run outside a benchmark's
    site.
    """
    if not os.environ.get(OF_A_BENCHMARK):
        sys.exit("A benchmark starts this program within its site; see benchmarks/README.md.")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "newsletter_site.settings")
    django.setup()


def print_result(found: Any) -> None:
    """Print the result for `within`."""
    print(json.dumps(found), flush=True)
