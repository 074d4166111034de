"""Store a past issue in the archive. It is never mailed."""

from uuid import UUID

from django.conf import settings
from django.db.models.functions import Now
from django.urls import reverse

from delivery.issue_attributes import PREVIEW_TEXT, TITLE
from delivery.mail.merge_fields import escape_braces
from delivery.models import Edition
from publishing.content.compose_content import edition_columns
from publishing.content.edition_content import Content, find_problems
from publishing.content.text_part import html_to_text
from publishing.editions.audience import NOBODY
from publishing.editions.issue_address import save_moved_issue
from publishing.models import Issue, MovedIssue
from publishing.past_issues.past_issue import PastIssue, Product, Skip, SkipIssueError

LONGEST_KEY = 100


def key_of(product: Product, past: PastIssue) -> str:
    """Return the key under which an issue is moved in once; empty if it needs none."""
    if product is Product.HOMING:
        return past.moved_as  # Its own id is the id of the issue.
    return f"{product} {(past.key or past.slug)[:LONGEST_KEY]}"


def is_known(product: Product, past: PastIssue) -> bool:
    """Whether an earlier move brought this issue in, or it was published here."""
    if product is Product.HOMING and past.key and Issue.objects.filter(pk=past.key).exists():
        return True
    return MovedIssue.objects.filter(pk=key_of(product, past)).exists()


def content_of(past: PastIssue, html: str) -> Content:
    """Return the content of a cleaned letter. Raises `SkipIssueError`."""
    title = _one_line(past.title, TITLE.longest)
    text = html_to_text(html, settings.SITE_URL)
    subtitle = _one_line(past.subtitle, PREVIEW_TEXT.longest)
    return check_content(
        Content.from_input(title=title or "…", html=html, text=text, preview_text=subtitle)
    )


def check_content(content: Content) -> Content:
    """Return the content if it can be stored. Raises `SkipIssueError`."""
    # Fields that this newsletter lacks show their fallbacks.
    if any(problem.merge_field is None for problem in find_problems(content)):
        is_empty = not content.html.strip() and not content.text.strip()
        raise SkipIssueError(Skip.NO_LETTER if is_empty else Skip.TOO_LONG)
    return content


def store_issue(product: Product, past: PastIssue, content: Content, *, by: UUID | None) -> Issue:
    """Create an issue at its old date, in the caller's transaction."""
    at = past.published_at or Now()
    own_id = UUID(past.key) if product is Product.HOMING else None
    issue = save_moved_issue(content.plain_title, past.slug, product.value, own_id, past.visibility)
    if key := key_of(product, past):
        MovedIssue.objects.create(key=key, issue=issue)
    Edition.objects.create(
        issue=issue,
        version=1,
        kind=Edition.Kind.NEWSLETTER,
        goes_to=NOBODY,
        audience=0,
        author_id=by,
        published_at=at,
        held_until=at,
        archive_url=settings.SITE_URL + reverse("archive:issue", args=[issue.slug]),
        **edition_columns(content),
    )
    return issue


def _one_line(text: str, longest: int) -> str:
    # Braces of another product must not become fields of ours.
    words = escape_braces(" ".join(text.split()))
    return words if len(words) <= longest else f"{words[: longest - 1]}…"
