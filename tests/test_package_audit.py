"""The step “Audit” fails for known holes, not for missing information."""

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


def test_judged_packages_without_holes_are_clean() -> None:
    found = audit.verdict(0, report(JUDGED), "No known vulnerabilities found")
    assert found == audit.Verdict(audit.Result.CLEAN)
    assert found.is_good


@pytest.mark.parametrize("exit_code", [0, 1])
def test_known_hole_fails_the_run_despite_other_messages(exit_code: int) -> None:
    for others in ((), (JUDGED,), (UNJUDGED, JUDGED)):
        found = audit.verdict(exit_code, report(*others, HOLE), "")
        assert (found.result, found.is_good) == (audit.Result.VULNERABLE, False)
        assert "pillow 1.0: PYSEC-1, fixed in 1.1" in audit.banner(found)


def test_unjudged_packages_are_not_called_clean() -> None:
    found = audit.verdict(0, report(JUDGED, UNJUDGED), "No known vulnerabilities found")
    assert (found.result, found.is_good) == (audit.Result.UNREACHABLE, True)
    assert "NOT AUDITED" in audit.banner(found)
    assert "1 of 2 packages were not judged: requests" in audit.banner(found)


def test_unreachable_advisories_print_a_warning_and_the_run_continues() -> None:
    for last in (
        "requests.exceptions.ProxyError: HTTPSConnectionPool(host='pypi.org', port=443)",
        "requests.exceptions.ConnectionError: Failed to resolve 'pypi.org'",
        "pip_audit._service.interface.ServiceError",
        "ERROR:pip_audit._cli:Tip: your network, firewall, or certificate may be blocking it",
    ):
        found = audit.verdict(1, "", f"Traceback (most recent call last):\n  somewhere\n{last}\n")
        assert (found.result, found.is_good) == (audit.Result.UNREACHABLE, True)
        assert audit.banner(found).count("!" * 78) == 2


def test_broken_audit_fails_the_run() -> None:
    for exit_code, output, errors in (
        (1, "", "ERROR:pip_audit._cli:requirement django is not hashed"),
        (1, "", ""),
        (2, "{}", "usage: pip-audit"),
        (1, report(JUDGED), ""),
    ):
        found = audit.verdict(exit_code, output, errors)
        assert (found.result, found.is_good) == (audit.Result.BROKEN, False)
    # The run has this step and cannot ignore its result.
    run = (PATH.parent / "run").read_text()
    assert 'step "Audit of the production packages" .venv/bin/python .ci/package_audit.py\n' in run
