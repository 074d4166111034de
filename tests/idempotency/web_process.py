"""A web process for tests: `python -m tests.idempotency.web_process HOLD`.

The process reads the author's session from its input, posts the form of `one_form_site`, and holds
the claim. If HOLD is `idle`, the process prints "claimed" and waits between two statements. If HOLD
is `at the gate`, the process runs a statement that waits for the test's gate.
"""

import json
import os
import sys

import django


def main(hold: str) -> None:
    """Post the form once."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "newsletter_site.settings")
    django.setup()

    from django.conf import settings
    from django.test import Client
    from django.test.utils import setup_test_environment

    from tests.idempotency import one_form_site
    from tests.idempotency.form_browser import Window

    def say_so_and_do_nothing(request: object) -> None:
        print("claimed", flush=True)
        sys.stdin.readline()

    setup_test_environment()
    settings.ROOT_URLCONF = one_form_site.__name__
    settings.MIDDLEWARE = one_form_site.MIDDLEWARE
    settings.IDEMPOTENCY_WAIT_S = 60
    one_form_site.during_work = {
        "idle": say_so_and_do_nothing,
        "at the gate": one_form_site.wait_at_the_gate,
    }[hold]
    client = Client()
    client.cookies["sessionid"] = json.loads(sys.stdin.readline())["session"]
    Window(client, author=None).post()


if __name__ == "__main__":
    main(sys.argv[1])
