"""Upload images, and serve them to everyone."""

import uuid
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotModified, JsonResponse
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from publishing.activity.activity_log import parse_id
from publishing.desk_access import desk_page, may_write, user_id_of, wants_json
from publishing.images.resize_image import MOST_BYTES, TOO_LARGE, UnusableImageError
from publishing.images.store_image import (
    EXTENSIONS,
    address_of,
    count_attempt,
    in_html,
    in_markdown,
    store_image,
)
from publishing.models import UploadedImage
from subscribers.files.bounded_upload import BoundedUpload, takes_upload
from subscribers.links.see_other import see_other

IMAGE_POLICY = "default-src 'none'; sandbox"
FOR_A_YEAR = "public, max-age=31536000, immutable"


@may_write
@require_http_methods(["GET", "HEAD", "POST"])
@takes_upload(lambda: MOST_BYTES)
def upload_image(request: HttpRequest, upload: BoundedUpload) -> HttpResponse:
    """Show the upload form, or on POST store an image and return its markup."""
    if request.method != "POST":
        named = parse_id(request.GET.get("image"))
        shown = UploadedImage.objects.filter(pk=named).first() if named else None
        return _page(request, shown)
    files = request.FILES.getlist("image")
    try:
        if upload.is_over:
            count_attempt(user_id_of(request))
            return _refused(request, str(TOO_LARGE))
        if not files:
            return _refused(request, _("Choose an image first."))
        if len(files) > 1:
            return _refused(request, _("Upload one image at a time."))
        [file] = files
        image = store_image(file.read(), file.name or "", by=user_id_of(request))
    except UnusableImageError as error:
        return _refused(request, str(error), status=error.status)
    alt = request.POST.get("alt", "")
    if not wants_json(request):
        query = urlencode({"image": str(image.pk), "alt": alt})
        return see_other(f"{reverse('desk:images')}?{query}")
    size = {"width": image.width, "height": image.height}
    return JsonResponse(_ways_to_show(image, alt) | size)


@require_safe
def serve_image(request: HttpRequest, image: uuid.UUID, extension: str) -> HttpResponse:
    """Serve an image, which may be cached for ever because its bytes never change."""
    found = UploadedImage.objects.filter(pk=image).defer("small_copy").first()
    if found is None or EXTENSIONS[found.content_type] != extension:
        raise Http404(_("There is no such image."))
    return _image(request, f'"{image.hex}"', found.content, found.content_type)


@require_safe
def serve_small_copy(request: HttpRequest, image: uuid.UUID) -> HttpResponse:
    """Serve the small copy of an image, which may be cached for ever too."""
    found = UploadedImage.objects.filter(pk=image).defer("content").first()
    if found is None or not found.small_copy:
        raise Http404(_("There is no such image."))
    return _image(request, f'"{image.hex}-small"', found.small_copy, "image/webp")


def _image(
    request: HttpRequest, tag: str, content: bytes | memoryview, content_type: str
) -> HttpResponse:
    headers = {
        "Cache-Control": FOR_A_YEAR,
        "ETag": tag,
        "Content-Security-Policy": IMAGE_POLICY,
        "X-Content-Type-Options": "nosniff",
        # Allow pages of other sites to show the image, because webmail programs show letters with
        # it.
        "Cross-Origin-Resource-Policy": "cross-origin",
    }
    if request.headers.get("If-None-Match") == tag:
        return HttpResponseNotModified(headers=headers)
    return HttpResponse(bytes(content), content_type=content_type, headers=headers)


def _refused(request: HttpRequest, sentence: str, *, status: int = 400) -> HttpResponse:
    if wants_json(request):
        return JsonResponse({"sentence": sentence}, status=status)
    return _page(request, None, sentence, status=status)


def _page(
    request: HttpRequest, image: UploadedImage | None, error: str = "", *, status: int = 200
) -> HttpResponse:
    alt = request.GET.get("alt", "")
    context = {"image": image, "alt": alt, "error": error}
    if image:
        context |= _ways_to_show(image, alt)
    return desk_page(request, "publishing/images/images.html", context, status=status)


def _ways_to_show(image: UploadedImage, alt: str) -> dict[str, Any]:
    markdown, html = in_markdown(image, alt), in_html(image, alt)
    return {"address": address_of(image), "markdown": markdown, "html": html}
