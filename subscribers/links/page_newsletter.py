"""The newsletter of a page."""

from django.http import HttpRequest

from delivery.models import Newsletter


def newsletter_of(request: HttpRequest) -> Newsletter:
    """Return the newsletter. The middleware read it to know the page's language."""
    newsletter = getattr(request, "newsletter", None)
    return newsletter if isinstance(newsletter, Newsletter) else Newsletter.objects.get_current()
