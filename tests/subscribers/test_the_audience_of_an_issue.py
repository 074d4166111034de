"""Who an issue goes to."""

from __future__ import annotations

import pytest
from django.db import connection

from subscribers import audience
from subscribers.models import Subscriber
from tests.subscribers.factories import SubscriberFactory, SuppressionFactory

pytestmark = pytest.mark.django_db


def test_every_confirmed_reader_is_in_the_audience_with_id_address_and_name() -> None:
    ada = SubscriberFactory(email="Ada@example.org", name="Ada")
    bob = SubscriberFactory(email="bob@example.org", name="")
    assert set(audience.confirmed()) == {
        (ada.pk, "Ada@example.org", "Ada"),
        (bob.pk, "bob@example.org", ""),
    }


@pytest.mark.parametrize("state", sorted(set(Subscriber.State.values) - {"confirmed"}))
def test_nobody_else_is(state: str) -> None:
    SubscriberFactory(state=state)
    assert list(audience.confirmed()) == []


def test_a_confirmed_reader_whose_address_is_suppressed_is_not() -> None:
    SubscriberFactory(email="Ada@example.org")
    bob = SubscriberFactory(email="bob@example.org")
    SuppressionFactory(address_key="ada@example.org")
    assert [row[0] for row in audience.confirmed()] == [bob.pk]


def test_it_serves_as_the_sub_query_of_an_insert_with_these_three_columns() -> None:
    reader = SubscriberFactory(email="ada@example.org", name="Ada")
    query, parameters = audience.confirmed().query.sql_with_params()

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT row_number() OVER (ORDER BY id), id, email, name"
            f" FROM ({query}) AS audience (id, email, name)",
            parameters,
        )
        assert cursor.fetchall() == [(1, reader.pk, "ada@example.org", "Ada")]
