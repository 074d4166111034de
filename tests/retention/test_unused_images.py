"""Images are deleted long after their last use, and never during an upload."""

import io
import uuid
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from PIL import Image

from delivery.models import Edition
from newsletter_site.data_retention import count_prunable, prune
from publishing.images.store_image import address_of, in_html, in_markdown, store_image
from publishing.models import Draft, Snippet, UploadedImage
from tests.delivery.edition_factory import Newsroom

pytestmark = pytest.mark.django_db(transaction=True)

MakeOlder = Callable[..., None]


def file(shade: int = 0) -> bytes:
    into = io.BytesIO()
    Image.new("L", (4, 3), shade).save(into, "PNG")
    return into.getvalue()


def uploaded(newsroom: Newsroom) -> UploadedImage:
    return store_image(file(), "a.png", by=newsroom.author.pk)


def gone() -> int:
    pictures = next(each for each in prune(pause=float) if each.rule.name == "pictures")
    assert pictures.error == ""
    return pictures.number


def would() -> int:
    return next(each.number for each in count_prunable() if each.rule.name == "pictures")


def draft(newsroom: Newsroom, letter: str) -> Draft:
    return Draft.objects.create(letter=letter, created_by=newsroom.author, saved_by=newsroom.author)


def test_image_is_deleted_when_unused_for_long(newsroom: Newsroom, make_older: MakeOlder) -> None:
    uploaded(newsroom)
    # A letter that contains the id of another image does not keep this image.
    draft(newsroom, f"![](/pictures/{uuid.uuid4()}.png)")
    make_older(400, "uploaded_image")

    assert gone() == 0
    make_older(89, "uploaded_image")
    assert gone() == 0
    make_older(2, "uploaded_image")
    assert would() == 1
    assert gone() == 1
    assert not UploadedImage.objects.exists()


def test_retention_begins_after_the_last_letter_that_uses_an_image(
    newsroom: Newsroom, make_older: MakeOlder
) -> None:
    picture = uploaded(newsroom)
    of_it = draft(newsroom, in_markdown(picture, "Swifts"))
    gone()
    make_older(400, "uploaded_image")
    assert gone() == 0
    of_it.delete()

    assert gone() == 0
    make_older(91, "uploaded_image")
    assert gone() == 1


SHOWN_IN: dict[str, Callable[[Newsroom, UploadedImage], object]] = {
    "a draft": lambda newsroom, picture: draft(newsroom, in_markdown(picture, "Swifts")),
    "a text part": lambda newsroom, picture: Draft.objects.create(
        text=address_of(picture).upper(), created_by=newsroom.author
    ),
    "an edition": lambda newsroom, picture: newsroom.publish(1, html=in_html(picture, "Swifts")),
    "a snippet": lambda _newsroom, picture: Snippet.objects.create(
        name="Logo", text=in_markdown(picture, "Swifts")
    ),
    "one that was called back": lambda newsroom, picture: Edition.objects.filter(
        pk=newsroom.publish(1, html=in_html(picture, "Swifts")).pk
    ).update(control="cancelled"),
}


@pytest.mark.parametrize("place", SHOWN_IN)
def test_image_is_kept_if_a_letter_uses_it_again(
    newsroom: Newsroom, make_older: MakeOlder, place: str
) -> None:
    picture = uploaded(newsroom)
    gone()
    make_older(400, "uploaded_image")
    SHOWN_IN[place](newsroom, picture)
    assert would() == 0
    assert gone() == 0
    assert UploadedImage.objects.get().unused_since is None


def test_repeated_upload_restarts_the_time(newsroom: Newsroom, make_older: MakeOlder) -> None:
    picture = uploaded(newsroom)
    gone()
    make_older(400, "uploaded_image")
    assert uploaded(newsroom).pk == picture.pk
    assert gone() == 0
    make_older(89, "uploaded_image")
    assert gone() == 0


def test_image_being_uploaded_again_is_kept(
    newsroom: Newsroom, make_older: MakeOlder, onlooker: psycopg.Connection[Any]
) -> None:
    uploaded(newsroom)
    gone()
    make_older(400, "uploaded_image")
    with onlooker.transaction():
        onlooker.execute("UPDATE uploaded_image SET unused_since = NULL")
        assert gone() == 0
    assert gone() == 0
    assert UploadedImage.objects.exists()


def test_many_images_are_deleted_in_batches(newsroom: Newsroom, make_older: MakeOlder) -> None:
    for shade in range(22):
        store_image(file(shade), "a.png", by=newsroom.author.pk)
    gone()
    make_older(91, "uploaded_image")
    assert gone() == 22
