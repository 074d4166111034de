"""Gunicorn hooks that report each request's begin and end to the test."""

import os
from typing import Any

_pipe = int(os.environ["REQUESTS_IN_FLIGHT"])


def pre_request(_worker: Any, _request: Any) -> None:
    os.write(_pipe, b"+")


def post_request(_worker: Any, _request: Any, _environ: Any, _response: Any) -> None:
    os.write(_pipe, b"-")
