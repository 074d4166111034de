"""Programs of the benchmarks that run within a site: with its settings, on its database."""

import json
import os
import subprocess
import sys
from typing import Any

import django

from benchmarks.site.site import OF_A_BENCHMARK, ROOT, Site


def within(site: Site, module: str, *words: str) -> Any:
    """Run `python -m MODULE WORDS…` to its end, and return what its last line says as JSON."""
    done = subprocess.run(
        [sys.executable, "-m", module, *words],
        cwd=ROOT,
        env=site.environment,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{module} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def begin() -> None:
    """
    Set Django up with the site's settings; the first thing such a program does.

    It would publish, sign people in and import whatever the site is, so it has to be a benchmark's.
    """
    if not os.environ.get(OF_A_BENCHMARK):
        sys.exit(
            "This runs within the site of a benchmark, which starts it; see benchmarks/README.md."
        )
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "newsletter_site.settings")
    django.setup()


def tell(found: Any) -> None:
    """Say what was found, for `within` to read."""
    print(json.dumps(found), flush=True)
