"""Find the welcome letter that new readers get now."""

from delivery.models import Edition, Newsletter


def welcome_letter() -> Edition | None:
    """Return the edition with the content of the current welcome letter, if any."""
    issues = Newsletter.objects.values("welcome_issue")
    return Edition.objects.filter(issue_id__in=issues, version=1).first()


def has_title_of_welcome_letter(title: str) -> bool:
    """Return whether a draft with this title is probably the welcome letter.

    Only the titles are compared, because the draft's text may have changed since the letter was
    turned on.
    """
    letter = welcome_letter()
    return letter is not None and letter.title == title
