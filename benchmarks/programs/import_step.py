"""
One step of an import in a process of its own, within a site:
`python -m benchmarks.programs.import_step`
with `upload SESSION BODY BOUNDARY`, `work` or `decide`. Tells that it did something.
"""

import sys
from pathlib import Path

from benchmarks.programs.browser import InProcess
from benchmarks.site.within_site import begin, tell

PAGE = "/admin/newsletters/imports/"


def upload(session: str, body: str, boundary: str) -> bool:
    """Post a file, as a browser does."""
    from newsletter_site.wsgi import application

    path = Path(body)
    with path.open("rb") as file:
        page = InProcess(application, session).upload(
            PAGE, file, path.stat().st_size, f"multipart/form-data; boundary={boundary}"
        )
    return page.status == 303


def work() -> bool:
    """Do what a worker has to do until nothing is due."""
    from subscribers.importing.run import run_next_import

    steps = 0
    while run_next_import(lambda: False):
        steps += 1
    return steps > 0


def decide() -> bool:
    """Have imported what was checked."""
    from subscribers.importing.accept_upload import start_import, statement
    from subscribers.models import SubscriberImport

    checked = SubscriberImport.objects.get(state=SubscriberImport.State.CHECKED)
    return start_import(checked.pk, statement())


def main() -> None:
    """Do the step that is named."""
    begin()
    step, *words = sys.argv[1:]
    did = {"upload": upload, "work": work, "decide": decide}[step](*words)
    assert did, f"{step}: nothing was done"
    tell(did)


if __name__ == "__main__":
    main()
