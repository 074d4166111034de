"""The page and form of the newsletter's look, and its preview."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_http_methods, require_safe

from delivery.languages import in_language_of
from delivery.mail.colours_and_typefaces import accent_for, look_of
from delivery.models import Newsletter
from delivery.models.newsletter import Header
from publishing.archive.archived_editions import latest_issues, listed_editions
from publishing.composer.preview_view import in_frame
from publishing.content.draft_content import build_content
from publishing.content.edition_content import Content
from publishing.content.render_preview import render_preview
from publishing.desk_access import desk_page, may_change_newsletter, sees_readers, user_id_of
from publishing.desk_permissions import MAY_WRITE
from publishing.images.resize_image import MOST_BYTES, TOO_LARGE, UnusableImageError
from publishing.images.store_image import count_attempt
from publishing.look.logo import LOGOS, LogoColumns, logo_columns, store_logo
from publishing.look.look_style_sheet import look_sheet
from publishing.models import Draft
from publishing.settings.change_settings import change_settings
from publishing.settings.setting_labels import LABELS
from subscribers.files.bounded_upload import BoundedUpload, takes_upload
from subscribers.links.see_other import see_other
from subscribers.signup.signup_view import cacheable_form_context

if TYPE_CHECKING:
    _ModelForm = forms.ModelForm[Newsletter]
else:
    _ModelForm = forms.ModelForm

_COLOUR = re.compile(r"#?([0-9a-f]{6}|[0-9a-f]{3})", re.IGNORECASE)
COLUMNS = ("accent", "typeface", "layout", "header")
_PREVIEW = ("shows", "device", "scheme")
# The size in pixels of a logo that the author chose and did not upload yet.
_SIZE = re.compile("([1-9][0-9]{0,3})x([1-9][0-9]{0,3})")
ISSUES_SHOWN = 3


class LookForm(_ModelForm):
    """The form for the look, with fields that choose what the preview shows."""

    accent = forms.CharField(max_length=20, label=gettext_lazy("Accent colour"))
    shows = forms.ChoiceField(
        label=gettext_lazy("Preview"),
        choices=[("letter", gettext_lazy("Letter")), ("page", gettext_lazy("Public page"))],
    )
    device = forms.ChoiceField(
        label=gettext_lazy("Width"),
        choices=[("desktop", gettext_lazy("Desktop")), ("phone", gettext_lazy("Phone"))],
    )
    scheme = forms.ChoiceField(
        label=gettext_lazy("Colours"),
        choices=[("light", gettext_lazy("Light")), ("dark", gettext_lazy("Dark"))],
    )

    new_logo = forms.RegexField(_SIZE, required=False)
    new_dark_logo = forms.RegexField(_SIZE, required=False)
    remove_logo = forms.BooleanField(required=False)
    remove_dark_logo = forms.BooleanField(required=False)

    class Meta:
        model = Newsletter
        fields = COLUMNS
        labels = LABELS

    def __init__(self, data: Any = None, instance: Newsletter | None = None) -> None:
        super().__init__(data, auto_id="%s", instance=instance)
        for name in _PREVIEW:
            self.fields[name].required = False

    def clean_accent(self) -> str:
        """Accept a colour with three or six digits, with or without `#`."""
        written = str(self.cleaned_data["accent"])
        found = _COLOUR.fullmatch(written)
        if found is None:
            raise forms.ValidationError(
                _("“{found}” is no colour. Enter one such as #0f5a6e.").format(found=written)
            )
        digits = found[1].lower()
        return f"#{digits if len(digits) == 6 else ''.join(2 * digit for digit in digits)}"

    @property
    def of_preview(self) -> list[forms.BoundField]:
        """The fields that only the preview uses."""
        return [self[name] for name in _PREVIEW]

    @property
    def columns(self) -> dict[str, str]:
        """The chosen look, as values of the newsletter's columns."""
        return {name: self.cleaned_data[name] for name in COLUMNS}

    @property
    def query(self) -> dict[str, str]:
        """The fields that the address of the preview needs."""
        names = [*_PREVIEW[:1], *(f"{do}_{logo}" for do in ("new", "remove") for logo in LOGOS)]
        chosen = {name: self.cleaned_data[name] for name in names if self.cleaned_data[name]}
        return self.columns | chosen

    @property
    def chosen_logos(self) -> LogoColumns:
        """The columns of logos that are removed, or not uploaded yet.

        A logo that was not uploaded has a placeholder as its address. The script of the page puts
        the picture in its place.
        """
        columns: LogoColumns = {}
        for logo in LOGOS:
            if size := _SIZE.fullmatch(self.cleaned_data[f"new_{logo}"]):
                columns |= logo_columns(logo, f"data:,{logo}", int(size[1]), int(size[2]))
            elif self.cleaned_data[f"remove_{logo}"]:
                columns |= logo_columns(logo)
        return columns


@may_change_newsletter
@require_http_methods(["GET", "HEAD", "POST"])
@takes_upload(lambda: len(LOGOS) * MOST_BYTES)
def look_page(request: HttpRequest, upload: BoundedUpload) -> HttpResponse:
    """Show the look with a preview; on POST show or save the posted look."""
    newsletter = Newsletter.objects.get_current()
    form = LookForm(request.POST if request.method == "POST" else None, newsletter)
    if form.is_valid() and request.POST.get("then") != "preview":
        try:
            values = _with_first_logo(form.columns | _posted_logos(request, upload))
        except UnusableImageError as error:
            form.add_error(None, str(error))
        else:
            if change_settings(values, user_id_of(request)):
                messages.success(request, _("Saved."))
            return see_other(reverse("desk:look"))
    shown = form.instance if form.is_valid() else newsletter
    query, choices = (form.query, form.cleaned_data) if form.is_valid() else ({}, {})
    context: dict[str, Any] = {
        "form": form,
        "shown": shown,
        "accent": accent_for(shown.accent),
        "shows": choices.get("shows") or "letter",
        "device": choices.get("device") or "desktop",
        "scheme": choices.get("scheme") or "light",
        "preview": f"{reverse('desk:look_preview')}?{urlencode(query)}",
        "most_bytes": MOST_BYTES,
        # Load the settings again, because validation wrote the posted values into the object above.
        "newsletter": Newsletter.objects.get_current(),
    }
    context["logos"] = [_logo_shown(context["newsletter"], logo) for logo in LOGOS]
    status = 422 if form.errors else 200
    return desk_page(request, "publishing/look/look.html", context, status=status)


def _logo_shown(newsletter: Newsletter, logo: str) -> dict[str, Any]:
    sizes = {side: getattr(newsletter, f"{logo}_{side}") for side in ("width", "height")}
    return {
        "name": logo,
        "label": LABELS[logo],
        "address": getattr(newsletter, logo),
        "is_dark": logo == "dark_logo",
        **sizes,
    }


def _posted_logos(request: HttpRequest, upload: BoundedUpload) -> LogoColumns:
    if upload.is_over:
        count_attempt(user_id_of(request))
        raise UnusableImageError(str(TOO_LARGE))
    columns: LogoColumns = {}
    for logo in LOGOS:
        if file := request.FILES.get(logo):
            columns |= store_logo(logo, file.read(), file.name or "", user_id_of(request))
        elif f"remove_{logo}" in request.POST:
            columns |= logo_columns(logo)
    return columns


def _with_first_logo(values: dict[str, Any]) -> dict[str, Any]:
    """Show the first logo of a newsletter in the header, as the author expects."""
    is_first = values.get("logo") and not Newsletter.objects.get_current().logo
    if is_first and values["header"] == Header.NAME:
        return values | {"header": Header.BOTH}
    return values


@may_change_newsletter
@require_safe
@xframe_options_sameorigin
def look_preview(request: HttpRequest) -> HttpResponse:
    """Render a letter or the front page in the look that the URL's query describes."""
    newsletter = Newsletter.objects.get_current()
    form = LookForm(request.GET, Newsletter.objects.get_current())
    # If the query is invalid, show the stored look.
    if form.is_valid():
        for name, value in _with_first_logo(form.columns | form.chosen_logos).items():
            setattr(newsletter, name, value)
    with in_language_of(newsletter):
        if request.GET.get("shows") == "page":
            html = _front_page(request, newsletter)
        else:
            content = _latest_content(request)
            preview = render_preview(
                content, sees_readers=sees_readers(request), newsletter=newsletter
            )
            html = preview.html
    return in_frame(HttpResponse(html), styles="'self' 'unsafe-inline'")


def _front_page(request: HttpRequest, newsletter: Newsletter) -> str:
    context = {
        "newsletter": newsletter,
        "look_style": look_sheet(look_of(newsletter)),
        "issues": latest_issues(ISSUES_SHOWN),
        **cacheable_form_context(),
    }
    return render_to_string("archive/front_page.html", context, request)


def _latest_content(request: HttpRequest) -> Content:
    """Return the newest draft or issue that the user may read, or a sample letter."""
    if any(map(request.user.has_perm, MAY_WRITE)):
        draft = Draft.objects.exclude(letter="").order_by("-saved_at", "-pk").first()
        if draft is not None:
            return build_content(draft.fields)
    edition = listed_editions().exclude(html_content="").first()
    if edition is not None:
        return Content.of_edition(edition)
    sample = render_to_string("publishing/look/sample_letter.html")
    return Content(title=_("A sample letter"), html=sample)
