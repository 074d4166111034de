"""
Pictures of letters: kept once, at an address that never shows another.

They stand in the database, so that every web process and every backup has them.
"""

from __future__ import annotations

import hashlib
import threading
import uuid
from html import escape

from django.conf import settings
from django.db import connection
from django.urls import reverse

from delivery.humanise import counted
from publishing.content.xml_characters import only_xml_characters
from publishing.images.resize_image import ResizedImage, resize_image
from publishing.models import UploadedImage

LONGEST_NAME = 200
LONGEST_WAIT_S = 10.0
MEMORY = threading.Lock()
EXTENSIONS = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}

# Changes no row once the tries of the hour are used up.
_COUNT_TRY = """
    INSERT INTO upload_attempts AS counted (author_id, since, tries)
    VALUES (%s, clock_timestamp(), 1)
    ON CONFLICT (author_id) DO UPDATE SET (since, tries) = (
        SELECT CASE WHEN is_over THEN EXCLUDED.since ELSE counted.since END,
               CASE WHEN is_over THEN 1 ELSE counted.tries + 1 END
          FROM (SELECT counted.since <= EXCLUDED.since - interval '1 hour') AS the_hour (is_over))
    WHERE counted.since <= EXCLUDED.since - interval '1 hour' OR counted.tries < %s
"""


class TooManyPicturesError(Exception):
    """The author has used up the uploads of an hour; one sentence says so."""


class PicturesBusyError(Exception):
    """Other pictures are being made smaller for longer than one may wait; one sentence says so."""


def store_image(file: bytes, name: str, *, by: uuid.UUID) -> UploadedImage:
    """
    The picture in this file, made fit for mail; the same file again is the same picture.

    Raises `UnusablePictureError`, `TooManyPicturesError` and `PicturesBusyError`.
    """
    sha256 = hashlib.sha256(file).digest()
    there = _wanted_again(sha256)
    if there is not None:
        return there
    count_try(by)
    small = _one_at_a_time(file)
    # Of two that come at once with the same file, one is kept.
    UploadedImage.objects.bulk_create(
        [
            UploadedImage(
                sha256=sha256,
                name=" ".join(only_xml_characters(name).replace("\x00", "").split())[:LONGEST_NAME],
                content_type=small.content_type,
                width=small.width,
                height=small.height,
                content=small.content,
                uploaded_by_id=by,
            )
        ],
        ignore_conflicts=True,
    )
    return UploadedImage.objects.defer("content").get(sha256=sha256)


def count_try(author: uuid.UUID) -> None:
    """
    Count an upload that costs something, before it does. Raises `TooManyPicturesError`.

    Must not be called in a transaction: a try counts also if what follows fails.
    """
    most = settings.PICTURES_PER_HOUR
    with connection.cursor() as cursor:
        cursor.execute(_COUNT_TRY, [author, most])
        if not cursor.rowcount:
            raise TooManyPicturesError(
                f"You have reached the limit of {counted(most, 'upload')} an hour, failed ones "
                "included (PICTURES_PER_HOUR); wait an hour and choose this one again."
            )


def _one_at_a_time(file: bytes) -> ResizedImage:
    """Make it small once no other picture is: each takes up to 150 MB of this process."""
    if not MEMORY.acquire(timeout=LONGEST_WAIT_S):
        raise PicturesBusyError(
            "Other pictures are being made smaller at the moment; "
            "wait a minute and choose this one again."
        )
    try:
        return resize_image(file)
    finally:
        MEMORY.release()


def picture_of(picture: uuid.UUID) -> UploadedImage | None:
    """One picture with its bytes; None where there is none."""
    return UploadedImage.objects.filter(pk=picture).first()


def address_of(picture: UploadedImage) -> str:
    """Where everybody finds it, below this site."""
    return reverse("picture", args=[picture.pk, EXTENSIONS[picture.content_type]])


def in_markdown(picture: UploadedImage, alt: str) -> str:
    """What to write into a letter in Markdown."""
    words = " ".join(alt.split()).replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    return f"![{words}]({address_of(picture)})"


def in_html(picture: UploadedImage, alt: str) -> str:
    """What to write into a letter in HTML."""
    words = escape(" ".join(alt.split()))
    return (
        f'<img src="{address_of(picture)}" alt="{words}" '
        f'width="{picture.width}" height="{picture.height}">'
    )


def _wanted_again(sha256: bytes) -> UploadedImage | None:
    """The picture of this file, if there is one: whoever uploads it is about to put it in."""
    same = UploadedImage.objects.filter(sha256=sha256)
    # Before it is read, so that it is not deleted afterwards for having been unused until now.
    same.exclude(unused_since=None).update(unused_since=None)
    return same.defer("content").first()
