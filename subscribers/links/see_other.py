"""The redirect after a form was accepted."""

from django.http import HttpResponseRedirect


def see_other(url: str) -> HttpResponseRedirect:
    """303: the browser loads the URL by GET, so reloading it posts nothing again."""
    return HttpResponseRedirect(url, status=303)
