"""A web process for the tests to kill: publishes through the API, with what stands on its input."""

from __future__ import annotations

import json
import os
import sys

import django


def main() -> None:
    """Make one call, and say how it was answered."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "newsletter_site.settings")
    django.setup()

    from django.test import Client
    from django.test.utils import setup_test_environment

    setup_test_environment()
    asked = json.loads(sys.stdin.readline())
    print("calling", flush=True)
    answer = Client().post(
        "/api/v1/issues/",
        data=asked["body"],
        content_type="application/json",
        secure=True,
        headers={"Authorization": f"Bearer {asked['token']}", "Idempotency-Key": asked["key"]},
    )
    print(answer.status_code, flush=True)


if __name__ == "__main__":
    main()
