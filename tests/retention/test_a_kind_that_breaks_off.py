"""A kind that breaks off is said, and keeps none of the others from going."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from delivery.models import Errand, ProviderEvent
from newsletter_site import daily_prune
from publishing.models import KeptForm, OutsideLook
from tests.delivery.newsroom import Newsroom

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def two_that_break_off_and_one_between(
    newsroom: Newsroom, make_older: Callable[..., None]
) -> Iterator[None]:
    """Three kinds with a row that is old; the first and the third cannot be deleted."""
    ProviderEvent.objects.create(body_hash=b"1", kind="Open", body=b"{}", applied_at=timezone.now())
    KeptForm.objects.create(
        writer=newsroom.author, key="a-key", title="Swifts", html_content="", text_content=""
    )
    OutsideLook.objects.create(kind="link", subject="https://example.net/", found={})
    daily_prune.prune_if_due(lambda: False)
    make_older(400)
    with connection.cursor() as cursor:
        cursor.execute(
            """
            CREATE FUNCTION refuses() RETURNS trigger LANGUAGE plpgsql
            AS 'BEGIN RAISE data_exception; END';
            CREATE TRIGGER refuses BEFORE DELETE ON provider_event EXECUTE FUNCTION refuses();
            CREATE TRIGGER refuses BEFORE DELETE ON outside_look EXECUTE FUNCTION refuses();
            """
        )
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP FUNCTION refuses CASCADE")


def test_the_others_go_each_that_broke_is_said_and_the_exit_code_tells_it(
    two_that_break_off_and_one_between: None,
) -> None:
    out, err = StringIO(), StringIO()

    with pytest.raises(SystemExit) as left:
        call_command("prune", stdout=out, stderr=err)

    assert left.value.code == 1
    counts = json.loads(out.getvalue().splitlines()[-1])
    assert (counts["events"], counts["kept_forms"], counts["looks"]) == (0, 1, 0)
    assert not KeptForm.objects.exists()
    said = [line for line in err.getvalue().splitlines() if "stay for now" in line]
    assert [line.partition(" (")[0] for line in said] == [
        "Some what Postmark's webhooks told, and was applied stay for now: it broke off",
        "Some looks at domains and links stay for now: it broke off",
    ]
    assert all(line.endswith("the log says where.") for line in said)


def test_the_daily_errand_says_each_of_them_and_tries_again(
    two_that_break_off_and_one_between: None,
) -> None:
    assert daily_prune.prune_if_due(lambda: False)
    errand = Errand.objects.get(name="prune")
    assert errand.failures == 1
    assert "webhooks told" in errand.said
    assert "looks at domains" in errand.said
    assert not KeptForm.objects.exists()
