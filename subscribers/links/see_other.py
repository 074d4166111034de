"""Where somebody is led after a form was taken."""

from __future__ import annotations

from django.http import HttpResponseRedirect


def see_other(address: str) -> HttpResponseRedirect:
    """303: look there, by a GET. So that loading that page again posts nothing again."""
    answer = HttpResponseRedirect(address)
    answer.status_code = 303
    return answer
