"""The details of consent records that are stored as codes, in words."""

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

TOO_FAST = "too_fast"
REFUSED_ON_SENDING = "refused_on_sending"
FILE_SAYS = "file_says_"  # followed by the status
ADDRESS_CORRECTED = "address_corrected:"  # followed by the number of the other reader

_SENTENCES: Mapping[str, Promise] = {
    TOO_FAST: _("The form was returned faster than anyone can type."),
    REFUSED_ON_SENDING: _("The mail provider refused a mail to this address."),
    f"{FILE_SAYS}unsubscribed": _("According to the imported file, the reader unsubscribed."),
    f"{FILE_SAYS}bounced": _("According to the imported file, mail to the reader bounced."),
    f"{FILE_SAYS}complained": _(
        "According to the imported file, the reader marked a letter as spam."
    ),
    f"{FILE_SAYS}blocked": _("According to the imported file, the reader must not be mailed."),
}


def sentence_of(detail: str) -> str:
    """Word a detail; one that is stored as text is shown as it is."""
    if detail.startswith(ADDRESS_CORRECTED):
        sentence = gettext("An author corrected the address. The other address is reader {number}.")
        return sentence.format(number=detail.removeprefix(ADDRESS_CORRECTED))
    return str(_SENTENCES.get(detail, detail))
