"""Send a Content-Security-Policy and a Permissions-Policy with every page."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

DEFAULT_POLICY = (
    "default-src 'self'; img-src 'self' data: https:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
# The policy forbids these browser features, because our pages do not use them.
UNUSED_FEATURES = (
    *("accelerometer", "camera", "display-capture", "geolocation", "gyroscope", "hid"),
    *("magnetometer", "microphone", "midi", "payment", "screen-wake-lock", "serial", "usb"),
)
HEADERS = {
    "Content-Security-Policy": DEFAULT_POLICY,
    "Permissions-Policy": ", ".join(f"{feature}=()" for feature in UNUSED_FEATURES),
}


def content_security_policy(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Add both policies as headers to every response.

    If a view has set one of these headers itself, as the preview of a mail does, the view's value
    stays.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    return middleware
