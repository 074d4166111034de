"""A truncated upload is not accepted as a shorter file."""

import pytest
from django.contrib.auth import get_user_model

from subscribers.models import SubscriberImport
from tests.deployment.served_site import ServedSite, served_site
from tests.newsletter_site.api_caller import Program

pytestmark = [pytest.mark.process, pytest.mark.django_db(transaction=True)]

LIST = b"email\nada@example.net\nbea@example.net\n"


def sent(site: ServedSite, program: Program, body: bytes, **announced: str) -> str:
    """Return the answer to a call whose body was cut off."""
    return site.post_and_hang_up(
        "/api/v1/imports/?filename=list.csv",
        body,
        **{
            "Authorization": f"Bearer {program.token}",
            "Idempotency-Key": "list-of-october",
            "Content-Type": "text/csv",
        },
        **announced,
    )


def test_a_truncated_upload_can_be_repeated_with_the_same_key(database_url: str) -> None:
    program = Program(get_user_model().objects.create_superuser("mona"))
    whole = {"Content-Length": str(len(LIST))}
    with served_site(database_url) as site:
        half = sent(site, program, LIST[:25], **whole)
        assert half.startswith("HTTP/1.1 400")
        assert "The body was cut off. Nothing was stored." in half
        assert not SubscriberImport.objects.exists()

        assert sent(site, program, LIST, **whole).startswith("HTTP/1.1 201")
    assert SubscriberImport.objects.count() == 1


def test_a_file_without_its_length_is_refused(database_url: str) -> None:
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(LIST), LIST)
    with served_site(database_url) as site:
        answer = sent(
            site,
            Program(get_user_model().objects.create_superuser("mona")),
            chunked,
            **{"Transfer-Encoding": "chunked"},
        )
    assert answer.startswith("HTTP/1.1 400")
    assert "is chunked and has no length" in answer
    assert not SubscriberImport.objects.exists()
