"""The form of a sender to try, and of the address for its test letter."""

from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from delivery.models.newsletter import one_line
from publishing.settings.sender_candidate import mailbox_of
from subscribers.address import read_address
from subscribers.refusal_sentences import InputRefusal, sentence_of

# Postmark's limit for the name and the address together.
LONGEST_SENDER = 255
FIELDS = ("sender_name", "sender_address", "test_email")


class SenderForm(forms.Form):
    """A name and an address to send from, and where the test letter goes."""

    sender_name = forms.CharField(
        max_length=100,
        required=False,
        validators=[one_line],
        label=gettext_lazy("Sender’s name"),
        help_text=gettext_lazy("Readers see it in their inbox, such as Ada of the Tide Tables."),
    )
    sender_address = forms.CharField(
        label=gettext_lazy("Sender’s address"),
        help_text=gettext_lazy("An address of a domain that is yours."),
    )
    test_email = forms.CharField(
        label=gettext_lazy("Send the test letter to"),
        help_text=gettext_lazy("An address that you can read."),
    )

    def __init__(self, data: Any = None, files: Any = None, initial: Any = None) -> None:
        super().__init__(data, auto_id="%s", initial=initial)
        for name in ("sender_address", "test_email"):
            self.fields[name].widget.attrs |= {"inputmode": "email", "autocomplete": "email"}

    def clean_sender_address(self) -> str:
        return self._address("sender_address")

    def clean_test_email(self) -> str:
        return self._address("test_email")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if not self.errors:
            mailbox = mailbox_of(cleaned["sender_name"], cleaned["sender_address"])
            if len(mailbox) > LONGEST_SENDER:
                sentence = _(
                    "Name and address have {length} characters, and Postmark accepts {longest}. "
                    "Shorten the name."
                )
                self.add_error(
                    "sender_name", sentence.format(length=len(mailbox), longest=LONGEST_SENDER)
                )
        return cleaned

    def _address(self, name: str) -> str:
        address = read_address(self.cleaned_data[name])
        if isinstance(address, InputRefusal):
            raise forms.ValidationError(sentence_of(address))
        return address
