"""Call a function in a process of a benchmark's site."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import django

from benchmarks.site.provider_process import ROOT
from benchmarks.site.site import OF_A_BENCHMARK, Site


def within(site: Site, function: Callable[..., Any], *values: Any) -> Any:
    """Call the function in a process of the site; pass values and result as JSON."""
    done = subprocess.run(
        [sys.executable, *command_of(function, *values)],
        cwd=ROOT,
        env=site.environment,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{function.__name__} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def command_of(function: Callable[..., Any], *values: Any) -> tuple[str, ...]:
    """Return Python's arguments that call a function and print its result as JSON."""
    return (
        "-m",
        "benchmarks.site.within_site",
        function.__module__,
        function.__name__,
        json.dumps(values),
    )


def begin() -> None:
    """Set Django up with the site's settings, for a function that needs Django.

    Functions of benchmarks change data: they publish, sign users in or import readers. So `begin`
    ends any process that does not run in a benchmark's site.
    """
    if not os.environ.get(OF_A_BENCHMARK):
        sys.exit("A benchmark calls this function within its site; see benchmarks/README.md.")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "newsletter_site.settings")
    django.setup()


def main() -> None:
    """Call the function that `command_of` names."""
    module, name, values = sys.argv[1:]
    print(json.dumps(getattr(import_module(module), name)(*json.loads(values))), flush=True)


if __name__ == "__main__":
    main()
