"""
The answer to a request for a name that the site does not have (ALLOWED_HOSTS), and its line.

Nothing of such a request was read, so it gets a sentence of its own. The name that was sent is
anybody's and is not repeated, neither in the answer nor in the log.
"""

from __future__ import annotations

import logging

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views import defaults

from api.problem import Kind, Problem, answer_of
from newsletter_site.api.api_middleware import BELOW

logger = logging.getLogger(__name__)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's page for what cannot be read, unless it is that the name is not the site's."""
    if not isinstance(exception, DisallowedHost):
        return defaults.bad_request(request, exception)
    logger.warning("a request was for a name that is not among ALLOWED_HOSTS")
    if request.path_info.startswith(BELOW):
        return answer_of(
            Problem(
                Kind.UNKNOWN_HOST,
                "Nothing was done. Ask by the name in the site's address; an operator adds another "
                "to ALLOWED_HOSTS.",
            )
        )
    return HttpResponse(render_to_string("unknown_host.html"), status=400)
