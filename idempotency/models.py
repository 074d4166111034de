"""The table `idempotency`: posted forms and their responses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Q
from django.db.models.functions import Now

from idempotency.key import KEY_PATTERN

if TYPE_CHECKING:
    Field = models.Field[None, None]
else:
    Field = models.Field


class HeaderPairsField(Field):
    """A response's headers in order: pairs of name and raw bytes (saved_response.py)."""

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return "header_pair[]"


def _all_null(is_null: bool) -> Q:
    answer = ("response_status_code", "response_headers", "response_body", "messages")
    return Q(**{f"{name}__isnull": is_null for name in answer})


class PostedForm(models.Model):
    """A form that a user posted under a key, and its response."""

    pk = models.CompositePrimaryKey("user", "idempotency_key")

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        db_index=False,  # the primary key begins with this column and serves as its index
        related_name="+",
    )
    idempotency_key = models.TextField()
    request_fingerprint = models.BinaryField()

    # The columns of the response are null until the response is saved, in the same transaction as
    # the claim.
    response_status_code = models.SmallIntegerField(null=True)
    response_headers = HeaderPairsField(null=True)
    response_body = models.BinaryField(null=True)
    messages = models.JSONField(null=True)

    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "idempotency"
        indexes = [
            models.Index(
                fields=["created_at", "user", "idempotency_key"], name="idempotency_rows_by_age"
            )
        ]
        constraints = [
            models.CheckConstraint(
                name="an_answer_is_saved_whole_or_not_at_all",
                condition=_all_null(True) | _all_null(False),
            ),
            models.CheckConstraint(
                name="only_an_answer_to_committed_work_is_saved",
                condition=Q(response_status_code__range=(200, 399)),
            ),
            models.CheckConstraint(
                name="a_key_is_1_to_49_printable_ascii_characters",
                condition=Q(idempotency_key__regex=KEY_PATTERN),
            ),
        ]
