"""The page and form of the newsletter's name, texts, language and time zone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.html import escape
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from delivery.control_characters import CONTROL_CHARACTERS, clean_name
from delivery.models import Newsletter
from delivery.short_markdown import has_merge_field_braces
from publishing.desk_access import desk_page, may_change_newsletter, user_id_of
from publishing.scheduling.find_zone import UnknownZoneError, find_zone, local_time_sentence
from publishing.scheduling.zone_input import ZoneInput
from publishing.settings import footer_links
from publishing.settings.change_settings import SettingRefusedError, change_settings
from publishing.settings.own_sites import LONGEST, MOST, read_origins
from publishing.settings.setting_labels import LABELS
from subscribers.links.see_other import see_other
from subscribers.signup.signup_form import AddressField

if TYPE_CHECKING:
    _ModelForm = forms.ModelForm[Newsletter]
else:
    _ModelForm = forms.ModelForm

# The numbers of lines of the fields for longer texts.
_ROWS = {"footer": 3, "sign_up_text": 3, "own_links": 4, "about": 10, "imprint": 6, "own_sites": 3}
_WRITTEN = {"about", "imprint"}  # Markdown, in which blanks at the end of a line have a meaning
# Refuse braces in these settings, because they would become merge fields in the header and footer
# of a mail, or on a public page.
_WITHOUT_FIELDS = ("name", "tagline", "postal_address", "about", "imprint")
_SECTIONS: tuple[tuple[str, Promise, tuple[str, ...]], ...] = (
    ("general", gettext_lazy("Newsletter"), ("name", "tagline", "time_zone", "language")),
    ("mails", gettext_lazy("Mails"), ("reply_to", "postal_address", "footer")),
    (
        "public",
        gettext_lazy("Public pages"),
        ("sign_up_text", "own_links", "about", "imprint", "feed_has_full_text", "own_sites"),
    ),
    ("approval", gettext_lazy("Approval"), ("second_person", "approver_may_publish")),
)


class NewsletterForm(_ModelForm):
    """The newsletter's settings without sender and look."""

    class Meta:
        model = Newsletter
        fields = [name for _, _, names in _SECTIONS for name in names]
        labels = LABELS
        help_texts = {
            "time_zone": gettext_lazy(
                "For all times on the desk and for scheduled issues. Type a city, such as Lisbon."
            ),
            "language": gettext_lazy("The language of letters, readers’ pages and mails to them."),
            "footer": gettext_lazy(
                "A text for the end of mails, such as a company’s legal details. Write **bold** "
                "for bold text and [My site](https://example.org) for a link. Finished HTML and "
                "plain text that have their own unsubscribe link get no footer. Published and "
                "scheduled issues and the welcome letter keep the footer that they have."
            ),
            "sign_up_text": gettext_lazy("What readers get, and how often."),
            "own_links": gettext_lazy(
                "Links in the footer of your public pages, at most 8. Write one per line: a "
                "title, a space and an https address, such as Mastodon https://social.example/@ada."
            ),
            "about": gettext_lazy(
                "A page about you and the newsletter, at {address}, in Markdown as in letters. "
                "Without a text there is no such page and no link to it."
            ),
            "imprint": gettext_lazy(
                "Who is responsible for the newsletter; some countries require it by law. Write it "
                "here in Markdown, and it gets its own page at {address}. If you have an imprint "
                "elsewhere, enter only its https address."
            ),
            "own_sites": gettext_lazy(
                "On these sites, the sign-up form that you copied from Homing needs only one "
                "press. Enter one address per line, such as https://www.example.org. List only "
                "sites whose pages you control."
            ),
            "feed_has_full_text": gettext_lazy(
                "Readers of the feed (RSS) get whole letters. Otherwise they get summaries and "
                "links."
            ),
            "approver_may_publish": gettext_lazy(
                "You may publish what you approved yourself, if somebody else saved it last."
            ),
        }
        widgets = {
            **{name: forms.Textarea(attrs={"rows": rows}) for name, rows in _ROWS.items()},
            "time_zone": ZoneInput(),
        }

    def __init__(self, data: Any = None, instance: Newsletter | None = None) -> None:
        super().__init__(data, auto_id="%s", instance=instance)
        self._choose("language", settings.LANGUAGES, self.instance.language)
        replies = self.fields["reply_to"]
        self.fields["reply_to"] = AddressField(
            required=False, label=replies.label, help_text=replies.help_text
        )
        for name in _WRITTEN:
            address = settings.SITE_URL + reverse(name)
            self.fields[name].help_text = self.fields[name].help_text.format(address=address)

    @property
    def sections(self) -> Iterator[tuple[str, Promise, list[forms.BoundField]]]:
        """The fields in groups, each with an id and a heading."""
        for key, heading, names in _SECTIONS:
            yield key, heading, [self[name] for name in names]

    @property
    def local_time(self) -> str:
        """What time it is in the chosen zone; empty if the zone is wrong."""
        return _local_time(str(self["time_zone"].value()))

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

    def clean_time_zone(self) -> str:
        try:
            return find_zone(self.cleaned_data["time_zone"])
        except UnknownZoneError as error:
            raise forms.ValidationError(str(error)) from None

    def clean_own_links(self) -> str:
        links, unusable = footer_links.read_links(self.cleaned_data["own_links"])
        wrong = _(
            "“{line}” has no https address at its end. Write a line such as Mastodon "
            "https://social.example/@ada."
        )
        errors = [wrong.format(line=line[:LONGEST]) for line in unusable[: footer_links.MOST]]
        if len(links) > footer_links.MOST:
            errors.append(_("At most {n} links are allowed.").format(n=footer_links.MOST))
        if errors:
            raise forms.ValidationError(errors)
        return footer_links.write_links(links)

    def clean_footer(self) -> str:
        footer = str(self.cleaned_data["footer"])
        if has_merge_field_braces(footer):
            raise forms.ValidationError(_braces_refused())
        return footer

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
        for name in cleaned.keys() & _ROWS.keys():
            lines = str(cleaned[name]).replace("\r\n", "\n").split("\n")
            if name not in _WRITTEN:
                lines = [line.rstrip() for line in lines]
            cleaned[name] = "\n".join(lines).strip()
            if any(CONTROL_CHARACTERS.search(line.replace("\t", " ")) for line in lines):
                self.add_error(name, _("The text contains control characters. Remove them."))
        for name in _WITHOUT_FIELDS:
            if "{{" in str(cleaned.get(name, "")):
                self.add_error(name, _braces_refused())
        return cleaned


def _braces_refused() -> str:
    return _("The text contains {braces}. Remove them.").format(braces="{{")


def _local_time(zone: str) -> str:
    try:
        return local_time_sentence(find_zone(zone), timezone.now())
    except UnknownZoneError:
        return ""


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
        # Load the settings again, because validation wrote the posted values into the object above.
        "newsletter": Newsletter.objects.get_current(),
    }
    return desk_page(request, "publishing/settings/newsletter.html", context)


@may_change_newsletter
@require_safe
def zone_time(request: HttpRequest) -> HttpResponse:
    """Return the local time of the zone that an author is typing, or an error."""
    try:
        sentence = local_time_sentence(find_zone(request.GET.get("time_zone", "")), timezone.now())
    except UnknownZoneError as error:
        sentence = str(error)
    answer = HttpResponse(escape(sentence))
    answer["Cache-Control"] = "no-store"
    return answer
