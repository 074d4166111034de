"""The step “Audit” fails for known vulnerabilities, not for missing data."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

PATH = Path(__file__).parent.parent / ".ci" / "package_audit.py"


def _loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ci_audit", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules["ci_audit"] = module
    spec.loader.exec_module(module)
    return module


audit = _loaded()
JUDGED = {"name": "django", "version": "5.2.19", "vulns": []}
HOLE = {
    "name": "pillow",
    "version": "1.0",
    "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1"], "aliases": [], "description": ""}],
}
UNJUDGED = {"name": "requests", "skip_reason": "Dependency not found on PyPI"}


def report(*packages: dict[str, object]) -> str:
    return json.dumps({"dependencies": packages, "fixes": []})


@pytest.mark.parametrize("exit_code", [0, 1])
def test_known_hole_fails_the_run_despite_other_messages(exit_code: int) -> None:
    for others in ((), (JUDGED,), (UNJUDGED, JUDGED)):
        found = audit.verdict(exit_code, report(*others, HOLE), "")
        assert (found.result, found.is_good) == (audit.Result.VULNERABLE, False)
        assert "pillow 1.0: PYSEC-1, fixed in 1.1" in audit.banner(found)


@pytest.mark.parametrize(
    ("exit_code", "output", "errors", "result", "is_good"),
    [
        (0, report(JUDGED), "No known vulnerabilities found", "CLEAN", True),
        # If a package could not be judged, the step prints a warning, and the run continues.
        (0, report(JUDGED, UNJUDGED), "No known vulnerabilities found", "UNREACHABLE", True),
        (1, "", "x\nrequests.exceptions.ProxyError: HTTPSConnectionPool(h)", "UNREACHABLE", True),
        (1, "", "x\npip_audit._service.interface.ServiceError\n", "UNREACHABLE", True),
        (1, "", "ERROR:pip_audit._cli:requirement django is not hashed", "BROKEN", False),
        (1, "", "", "BROKEN", False),
        (2, "{}", "usage: pip-audit", "BROKEN", False),
        (1, report(JUDGED), "", "BROKEN", False),
    ],
)
def test_verdict_depends_on_what_was_judged(
    exit_code: int, output: str, errors: str, result: str, is_good: bool
) -> None:
    found = audit.verdict(exit_code, output, errors)
    assert (found.result, found.is_good) == (audit.Result[result], is_good)
    assert ("NOT AUDITED" in audit.banner(found)) == (result == "UNREACHABLE")


def test_the_run_has_this_step_and_cannot_ignore_its_result() -> None:
    run = (PATH.parent / "run").read_text()
    assert 'step "Audit of the production packages" .venv/bin/python .ci/package_audit.py\n' in run
