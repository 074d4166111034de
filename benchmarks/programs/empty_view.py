"""
The site's own addresses and one more, for benchmarks alone: a page that wants somebody signed in
and does nothing. What it takes is what any page of the site takes before its view begins.
"""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.urls import path

from newsletter_site import urls

PATH = "/empty/"


@login_required
def empty(request: HttpRequest) -> HttpResponse:
    """Nothing, for whoever is signed in."""
    return HttpResponse()


handler400, handler500 = urls.handler400, urls.handler500
urlpatterns = [path(PATH.removeprefix("/"), empty), *urls.urlpatterns]
