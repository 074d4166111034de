"""Save and delete snippets: texts that authors insert in the composer."""

import uuid

from django.contrib.admin.models import ADDITION, CHANGE, DELETION
from django.db import IntegrityError, transaction
from django.db.models.functions import Lower

from publishing.content.draft_content import HTML
from publishing.content.markdown import render_markdown
from publishing.models import Snippet
from subscribers.record_activity import record_activity

LONGEST_TEXT = 10_000


def load_snippets() -> list[Snippet]:
    """Return all snippets, sorted by name."""
    return list(Snippet.objects.order_by(Lower("name")))


def markup_by_name(letter_format: str) -> list[tuple[str, str]]:
    """Return pairs of each snippet's name and its text in the letter's format."""
    render = render_markdown if letter_format == HTML else str
    return [(snippet.name, render(snippet.text)) for snippet in load_snippets()]


@transaction.atomic
def save_snippet(snippet: Snippet, by: uuid.UUID) -> bool:
    """Add or change a snippet; return False if another snippet has the same name.

    Saving the same snippet again changes nothing, so a form may be posted twice.
    """
    code, flag = ("add", ADDITION) if snippet.pk is None else ("edit", CHANGE)
    same = Snippet.objects.filter(name=snippet.name, text=snippet.text)
    same = same.filter(pk=snippet.pk) if snippet.pk else same
    if same.exists():
        return True
    try:
        with transaction.atomic():
            snippet.save()
    except IntegrityError:
        # If the same form was posted twice at once, the other post has saved this text.
        return same.exists()
    record_activity(code, by, snippet, flag=flag)
    return True


@transaction.atomic
def delete_snippet(number: int, by: uuid.UUID) -> bool:
    """Delete a snippet; return False if it was already deleted."""
    snippet = Snippet.objects.select_for_update().filter(pk=number).first()
    if snippet is None:
        return False
    snippet.delete()
    record_activity("delete", by, Snippet, name=snippet.name, flag=DELETION)
    return True
