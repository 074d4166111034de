"""Check the settings of the newsletter that every mail shows. Pure."""

import re
from collections.abc import Iterator

from django.conf.locale import LANG_INFO
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, FindingText, FixIn, Texts, advice, passed

TEXTS: Texts = {
    "unnamed_newsletter": FindingText(
        _("The newsletter is still called “{name}”"),
        _("This default name is in every mail and on every page. Choose your own."),
    ),
    "no_postal_address": FindingText(
        _("There is no postal address"),
        _("Many countries require one in every newsletter. The footer shows it."),
    ),
    "no_language": FindingText(
        _("No language is set"),
        _("Screen readers and mail programs that translate use it."),
    ),
    "language_set": FindingText(_("The language is set to {language}.")),
}


def check(context: CheckContext) -> Iterator[Finding]:
    """Find a missing name, postal address or language."""
    newsletter = context.newsletter
    if not newsletter.is_named:
        yield advice("unnamed_newsletter", FixIn.NEWSLETTER, name=newsletter.name)
    if not newsletter.postal_address.strip():
        yield advice("no_postal_address", FixIn.NEWSLETTER)
    if not newsletter.language.strip():
        yield advice("no_language", FixIn.NEWSLETTER)
    else:
        yield passed("language_set", language=_language_name(newsletter.language))


def _language_name(code: str) -> str:
    for key in (code.lower(), re.split(r"[-_]", code.lower())[0]):
        name = LANG_INFO.get(key, {}).get("name")
        if isinstance(name, str):
            return gettext(name)  # from the catalogue of Django
    return code
