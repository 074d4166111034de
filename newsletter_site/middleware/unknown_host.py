"""Answer and log a request for a host name that is not in ALLOWED_HOSTS, without the name."""

import logging

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views import defaults

from api.problem import Problem, ProblemType, problem_response
from newsletter_site.api.api_middleware import API_ROOT

logger = logging.getLogger(__name__)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """handler400: Django's page, unless the host name is unknown."""
    if not isinstance(exception, DisallowedHost):
        return defaults.bad_request(request, exception)
    logger.warning("a request was for a name that is not among ALLOWED_HOSTS")
    if request.path_info.startswith(API_ROOT):
        return problem_response(
            Problem(
                ProblemType.UNKNOWN_HOST,
                "Nothing was done. Use the host name of the site's address. An operator can add "
                "another one to ALLOWED_HOSTS.",
            )
        )
    return HttpResponse(render_to_string("unknown_host.html"), status=400)
