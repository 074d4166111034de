"""The site's URLs and an empty page behind the sign-in.

The empty page measures the time before any view begins.
"""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.urls import path

from newsletter_site import urls

PATH = "/empty/"


@login_required
def empty(request: HttpRequest) -> HttpResponse:
    """Answer nothing, for signed-in users."""
    return HttpResponse()


handler400, handler500 = urls.handler400, urls.handler500
urlpatterns = [path(PATH.removeprefix("/"), empty), *urls.urlpatterns]
