"""The redirect after a form was accepted."""

from django.http import HttpResponseRedirect


def see_other(address: str) -> HttpResponseRedirect:
    """303: the browser loads the address by GET, so reloading it posts nothing again."""
    answer = HttpResponseRedirect(address)
    answer.status_code = 303
    return answer
