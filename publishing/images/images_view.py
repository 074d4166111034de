"""Pictures: uploaded by authors, shown to everybody."""

from __future__ import annotations

import uuid

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotModified, JsonResponse
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods, require_safe

from publishing.desk_access import author_of, desk_page, may_write
from publishing.images.images import (
    EXTENSIONS,
    PicturesBusyError,
    TooManyPicturesError,
    address_of,
    count_try,
    in_html,
    in_markdown,
    picture_of,
    store_image,
)
from publishing.images.resize_image import MOST_BYTES, UnusablePictureError, too_large
from publishing.models import UploadedImage
from publishing.script_request import wants_json
from subscribers.files.bounded_upload import BoundedUpload
from subscribers.links.see_other import see_other

POLICY = "default-src 'none'; sandbox"
FOR_A_YEAR = "public, max-age=31536000, immutable"


# The token is looked at below, once the upload has a bound: looking at it reads the whole form.
@csrf_exempt
@may_write
@require_http_methods(["GET", "HEAD", "POST"])
def pictures(request: HttpRequest) -> HttpResponse:
    """GET shows a form, POST keeps a picture and says how it is put into a letter."""
    bounded = BoundedUpload(MOST_BYTES)
    request.upload_handlers = [bounded]
    return _pictures(request, bounded)


@csrf_protect
def _pictures(request: HttpRequest, bounded: BoundedUpload) -> HttpResponse:
    if request.method != "POST":
        return _page(request, _named(request.GET.get("picture", "")))
    files = request.FILES.getlist("picture")
    try:
        if bounded.is_over:
            count_try(author_of(request))
            return _refused(request, too_large())
        if not files:
            return _refused(request, "Choose a picture first.")
        if len(files) > 1:
            return _refused(request, f"{len(files)} pictures came; choose one after the other.")
        [file] = files
        picture = store_image(file.read(), file.name or "", by=author_of(request))
    except UnusablePictureError as error:
        return _refused(request, str(error))
    except TooManyPicturesError as error:
        return _refused(request, str(error), status=429)
    except PicturesBusyError as error:
        return _refused(request, str(error), status=503)
    alt = request.POST.get("alt", "")
    if not wants_json(request):
        query = HttpRequest().GET.copy()
        query.update({"picture": str(picture.pk), "alt": alt})
        return see_other(f"{reverse('desk:pictures')}?{query.urlencode()}")
    return JsonResponse(
        {
            "address": address_of(picture),
            "width": picture.width,
            "height": picture.height,
            "markdown": in_markdown(picture, alt),
            "html": in_html(picture, alt),
        }
    )


@require_safe
def serve_image(request: HttpRequest, picture: uuid.UUID, extension: str) -> HttpResponse:
    """The picture itself, for mails, the archive and whoever keeps a copy."""
    # Its bytes never change, so whoever has them has them for good.
    tag = f'"{picture.hex}"'
    headers = {
        "Cache-Control": FOR_A_YEAR,
        "ETag": tag,
        "Content-Security-Policy": POLICY,
        "X-Content-Type-Options": "nosniff",
        # Mail programs in a browser show it within their own pages.
        "Cross-Origin-Resource-Policy": "cross-origin",
    }
    found = picture_of(picture)
    if found is None or EXTENSIONS[found.content_type] != extension:
        raise Http404("There is no such picture.")
    if request.headers.get("If-None-Match") == tag:
        return HttpResponseNotModified(headers=headers)
    return HttpResponse(bytes(found.content), content_type=found.content_type, headers=headers)


def _named(said: str) -> UploadedImage | None:
    try:
        return picture_of(uuid.UUID(said))
    except ValueError:
        return None


def _refused(request: HttpRequest, sentence: str, *, status: int = 400) -> HttpResponse:
    if wants_json(request):
        return JsonResponse({"sentence": sentence}, status=status)
    return _page(request, None, sentence, status=status)


def _page(
    request: HttpRequest, picture: UploadedImage | None, error: str = "", *, status: int = 200
) -> HttpResponse:
    alt = request.GET.get("alt", "")
    facts = {
        "picture": picture,
        "address": address_of(picture) if picture else "",
        "markdown": in_markdown(picture, alt) if picture else "",
        "html": in_html(picture, alt) if picture else "",
        "alt": alt,
        "error": error,
    }
    return desk_page(request, "publishing/pictures.html", facts, status=status)
