"""The redirect after an accepted form."""

from django.http import HttpResponseRedirect


def see_other(url: str) -> HttpResponseRedirect:
    """Redirect with 303, so that reloading the page does not post again."""
    return HttpResponseRedirect(url, status=303)
