"""Run one step of an import in its own process, within a site.

Run `python -m benchmarks.programs.import_step` with `upload SESSION BODY BOUNDARY`, `work` or
`decide`. It reports whether it did something.
"""

import sys
from pathlib import Path

from benchmarks.programs.browser import InProcess
from benchmarks.site.within_site import begin, print_result

PAGE = "/admin/newsletters/imports/"


def upload(session: str, body: str, boundary: str) -> bool:
    """Post a file as a browser does."""
    from newsletter_site.wsgi import application

    path = Path(body)
    with path.open("rb") as file:
        page = InProcess(application, session).upload(
            PAGE, file, path.stat().st_size, f"multipart/form-data; boundary={boundary}"
        )
    return page.status == 303


def work() -> bool:
    """Run the worker's import steps until none is due."""
    from subscribers.importing.import_task import run_next_import

    steps = 0
    while run_next_import():
        steps += 1
    return steps > 0


def decide() -> bool:
    """Confirm the import of the checked file."""
    from subscribers.importing.accept_upload import start_import, statement
    from subscribers.models import SubscriberImport

    checked = SubscriberImport.objects.get(state=SubscriberImport.State.CHECKED)
    return start_import(checked.pk, statement())


def main() -> None:
    """Run the named step."""
    begin()
    step, *words = sys.argv[1:]
    did = {"upload": upload, "work": work, "decide": decide}[step](*words)
    assert did, f"{step}: nothing was done"
    print_result(did)


if __name__ == "__main__":
    main()
