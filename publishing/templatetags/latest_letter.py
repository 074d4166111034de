"""The template tag that loads the latest letter in the archive."""

from typing import Any

from django import template

from publishing.archive.archived_editions import latest_issues

register = template.Library()


@register.simple_tag
def latest_letter() -> dict[str, Any] | None:
    """Load the latest listed letter as a row of the archive; None if there is none."""
    return next(iter(latest_issues(1)), None)
