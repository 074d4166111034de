"""An import meets somebody who was erased: it leaves them out and writes nothing down."""

from __future__ import annotations

import pytest

from subscribers.erasing import erase
from subscribers.models import ImportAddressSeen, LeftOutRow, Subscriber, SubscriberImport
from tests.subscribers.conftest import ImportRows
from tests.subscribers.everywhere import tables_that_hold
from tests.subscribers.factories import SubscriberFactory, SubscriberImportFactory
from tests.subscribers.signing_up_by_hand import ADA, press, sign_up, the_one

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _erased() -> None:
    assert erase(SubscriberFactory(email=ADA).pk)


@pytest.mark.parametrize("options", [[], ["--confirmed"]])
def test_they_are_left_out_with_a_reason_and_the_others_go_in(
    import_rows: ImportRows, options: list[str]
) -> None:
    printed = import_rows(f"{ADA.upper()},Ada", "new@example.org,New", options=options)
    assert printed.counts == {"added": 1, "skipped": 1}
    assert "had their record erased" in printed.text
    assert not Subscriber.objects.filter(email_key=ADA).exists()
    assert LeftOutRow.objects.get().email == ""
    assert tables_that_hold(ADA) == []


@pytest.mark.parametrize("has_confirmed", [True, False])
def test_who_signed_up_again_since_is_known_like_anybody_else(
    import_rows: ImportRows, has_confirmed: bool
) -> None:
    sign_up(ADA)
    if has_confirmed:
        press(the_one())
    state = the_one().state
    assert import_rows(f"{ADA},Ada").counts == {"known": 1}
    assert the_one().state == state


@pytest.mark.parametrize(
    "read_as",
    [
        {"first_row": [" Bram@example.org", "Bram"]},
        {
            "first_row": None,
            "with_accents": [["zoe@example.org", "Zoë"], ["BRAM@example.org", "B"]],
        },
    ],
)
def test_what_an_import_remembers_goes_too(read_as: dict[str, object]) -> None:
    reader = SubscriberFactory(email="bram@example.org")
    under_way = SubscriberImportFactory()
    for line, key in enumerate(("bram@example.org", "other@example.org"), 1):
        ImportAddressSeen.objects.create(subscriber_import=under_way, email_key=key, line=line)
    SubscriberImport.objects.update(read_as=read_as)
    erase(reader.pk)
    assert ImportAddressSeen.objects.get().email_key == "other@example.org"
    assert tables_that_hold("bram@example.org") == []
