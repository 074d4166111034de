"""Save and delete snippets, texts that the composer inserts."""

import uuid

from django.contrib.admin.models import ADDITION, CHANGE, DELETION
from django.db import connection, transaction
from django.db.models import Value
from django.db.models.functions import Lower
from django.db.models.lookups import Exact

from publishing.content.draft_content import HTML
from publishing.content.markdown import render_markdown
from publishing.models import Snippet
from subscribers.record_activity import record_activity

MOST_SNIPPETS = 50
LONGEST_TEXT = 10_000
NAME_TAKEN, LIMIT_REACHED = "name taken", "limit reached"
_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtextextended('homing: snippets', 0))"


def load_snippets() -> list[Snippet]:
    """Return all snippets, sorted by name."""
    return list(Snippet.objects.order_by(Lower("name")))


def markup_by_name(letter_format: str) -> list[tuple[str, str]]:
    """Return the name of each snippet, and its text in the format of a letter."""
    render = render_markdown if letter_format == HTML else str
    return [(snippet.name, render(snippet.text)) for snippet in load_snippets()]


def can_add_snippet() -> bool:
    """Whether there are fewer snippets than allowed."""
    return Snippet.objects.count() < MOST_SNIPPETS


@transaction.atomic
def save_snippet(snippet: Snippet, by: uuid.UUID) -> str:
    """Add or change a snippet; return a code if it is refused.

    Saving the same snippet again changes nothing, so a form may be posted twice.
    """
    with connection.cursor() as cursor:
        cursor.execute(_ONE_AT_A_TIME)
    same = Snippet.objects.filter(name=snippet.name, text=snippet.text).first()
    if same is not None and snippet.pk in (None, same.pk):
        return ""
    is_new = snippet.pk is None
    # Compare as the constraint does. `iexact` compares capitals, which differ for “ẞ”.
    has_name = Exact(Lower("name"), Lower(Value(snippet.name)))
    if Snippet.objects.filter(has_name).exclude(pk=snippet.pk).exists():
        return NAME_TAKEN
    if is_new and not can_add_snippet():
        return LIMIT_REACHED
    snippet.save()
    code, flag = ("add", ADDITION) if is_new else ("edit", CHANGE)
    record_activity(code, by, snippet, flag=flag)
    return ""


@transaction.atomic
def delete_snippet(number: int, by: uuid.UUID) -> bool:
    """Delete a snippet; False if it is gone."""
    snippet = Snippet.objects.select_for_update().filter(pk=number).first()
    if snippet is None:
        return False
    snippet.delete()
    record_activity("delete", by, Snippet, name=snippet.name, flag=DELETION)
    return True
