"""The page and form of the newsletter's name, texts, language and time zone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zoneinfo import available_timezones

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from delivery.control_characters import CONTROL_CHARACTERS, clean_name
from delivery.models import Newsletter
from publishing.desk_access import desk_page, may_change_newsletter, user_id_of
from publishing.settings.change_settings import SettingRefusedError, change_settings
from publishing.settings.own_sites import LONGEST, MOST, read_origins
from publishing.settings.setting_labels import LABELS
from subscribers.links.see_other import see_other
from subscribers.signup.signup_form import AddressField

if TYPE_CHECKING:
    _ModelForm = forms.ModelForm[Newsletter]
else:
    _ModelForm = forms.ModelForm

_WITH_LINES = ("footer", "sign_up_text", "own_sites")
# Refuse braces in these settings, because they would become merge fields in the header and footer
# of a mail.
_IN_MAILS = ("name", "postal_address", "footer")


class NewsletterForm(_ModelForm):
    """The newsletter's settings without sender and look."""

    class Meta:
        model = Newsletter
        fields = (
            "name",
            "tagline",
            "postal_address",
            "reply_to",
            "time_zone",
            "language",
            "footer",
            "sign_up_text",
            "own_sites",
            "second_person",
            "approver_may_publish",
        )
        labels = LABELS
        help_texts = {
            "time_zone": gettext_lazy("For all times on the desk and for scheduled issues."),
            "language": gettext_lazy("The language of letters, readers’ pages and mails to them."),
            "footer": gettext_lazy(
                "A text for the end of mails, such as a company’s legal details. Finished HTML "
                "and plain text that have their own unsubscribe link get no footer. Published and"
                " scheduled issues and the welcome letter keep the footer that they have."
            ),
            "sign_up_text": gettext_lazy("What readers get, and how often."),
            "own_sites": gettext_lazy(
                "On these sites, the sign-up form that you copied from Homing needs only one "
                "press. Enter one address per line, such as https://www.example.org. List only "
                "sites whose pages you control."
            ),
        }
        help_texts["approver_may_publish"] = gettext_lazy(
            "You may publish what you approved yourself, if somebody else saved it last."
        )
        widgets = {name: forms.Textarea(attrs={"rows": 3}) for name in _WITH_LINES}

    def __init__(self, data: Any = None, instance: Newsletter | None = None) -> None:
        super().__init__(data, auto_id="%s", instance=instance)
        language, zone = self.instance.language, self.instance.time_zone
        self._choose("language", settings.LANGUAGES, language)
        replies = self.fields["reply_to"]
        self.fields["reply_to"] = AddressField(
            required=False, label=replies.label, help_text=replies.help_text
        )
        zones = sorted(name for name in available_timezones() if _is_place(name))
        self._choose("time_zone", [("UTC", "UTC"), *((name, name) for name in zones)], zone)

    def _choose(self, name: str, choices: list[tuple[str, str]], present: str) -> None:
        """Turn a text field into a select.

        The current value is one of the choices too, so that saving the page keeps it.
        """
        if present and present not in dict(choices):
            choices = [(present, present), *choices]
        field = self.fields[name]
        self.fields[name] = forms.ChoiceField(
            choices=choices, label=field.label, help_text=field.help_text
        )

    def clean_own_sites(self) -> str:
        origins, unusable = read_origins(self.cleaned_data["own_sites"])
        wrong = _("“{line}” is not an https address. Enter one such as https://www.example.org.")
        errors = [wrong.format(line=line[:LONGEST]) for line in unusable[:MOST]]
        if len(origins) > MOST:
            errors.append(_("At most {n} sites are allowed.").format(n=MOST))
        if errors:
            raise forms.ValidationError(errors)
        return "\n".join(origins)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if "name" in cleaned:
            cleaned["name"] = clean_name(cleaned["name"])
        for name in _WITH_LINES:
            if name in cleaned:
                lines = [line.rstrip() for line in str(cleaned[name]).split("\n")]
                cleaned[name] = "\n".join(lines).strip()
                if any(map(CONTROL_CHARACTERS.search, lines)):
                    self.add_error(name, _("The text contains control characters. Remove them."))
        for name in _IN_MAILS:
            if "{{" in str(cleaned.get(name, "")):
                self.add_error(
                    name, _("The text contains {braces}. Remove them.").format(braces="{{")
                )
        return cleaned


def _is_place(zone: str) -> bool:
    return "/" in zone and not zone.startswith(("Etc/", "SystemV/", "posix/", "right/"))


@may_change_newsletter
@require_http_methods(["GET", "HEAD", "POST"])
def newsletter_page(request: HttpRequest) -> HttpResponse:
    """Show the form of the newsletter's settings; on POST save what changed."""
    newsletter = Newsletter.objects.get_current()
    form = NewsletterForm(request.POST if request.method == "POST" else None, newsletter)
    if form.is_valid():
        try:
            if change_settings(form.cleaned_data, user_id_of(request)):
                messages.success(request, _("Saved."))
            return see_other(reverse("readers:settings"))
        except SettingRefusedError as error:
            form.add_error("second_person", str(error))
    context = {
        "form": form,
        "heading": _("Newsletter"),
        "back": reverse("readers:settings"),
        "place": _("Settings"),
        # Load the settings again, because validation wrote the posted values into the object above.
        "newsletter": Newsletter.objects.get_current(),
    }
    return desk_page(request, "subscribers/field_and_tag_settings/settings_form.html", context)
