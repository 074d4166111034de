"""Check the newsletter's settings that every mail shows."""

from collections.abc import Iterator

from django.utils.translation import get_language_info
from django.utils.translation import gettext as _

from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, FixIn, advice, passed


def check(context: CheckContext) -> Iterator[Finding]:
    """Find a missing name, postal address or language."""
    newsletter = context.newsletter
    if not newsletter.is_named:
        yield advice(
            _("The newsletter is still called “{name}”"),
            _("This default name is in every mail and on every page. Choose your own."),
            FixIn.NEWSLETTER,
            name=newsletter.name,
        )
    if not newsletter.postal_address.strip():
        yield advice(
            _("There is no postal address"),
            _(
                "Many countries require a postal address in every newsletter. The footer shows the "
                "address."
            ),
            FixIn.NEWSLETTER,
        )
    if newsletter.language.strip():
        language = _language_name(newsletter.language)
        yield passed(_("The language is set to {language}."), language=language)
    else:
        yield advice(
            _("No language is set"),
            _("Screen readers and mail programs that translate use it."),
            FixIn.NEWSLETTER,
        )


def _language_name(code: str) -> str:
    try:
        return str(get_language_info(code.lower())["name_translated"])
    except KeyError:
        return code
