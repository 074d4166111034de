"""The page of the newsletter's name, words, language and time zone."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from delivery.models import Newsletter
from publishing.desk_access import desk_page, may_change_newsletter, user_id_of
from publishing.settings.change_settings import SettingRefusedError, change_settings
from publishing.settings.newsletter_form import NewsletterForm
from subscribers.links.see_other import see_other


@may_change_newsletter
@require_http_methods(["GET", "HEAD", "POST"])
def newsletter_page(request: HttpRequest) -> HttpResponse:
    """Show the form of the newsletter's settings; save what changed for POST."""
    newsletter = Newsletter.objects.get_current()
    form = NewsletterForm(request.POST if request.method == "POST" else None, newsletter)
    if form.is_bound and form.is_valid():
        try:
            if change_settings(form.cleaned_data, user_id_of(request)):
                messages.success(request, _("Saved."))
            return see_other(reverse("readers:settings"))
        except SettingRefusedError as error:
            form.add_error("second_person", str(error))
    context = {
        "form": form,
        "heading": _("Newsletter"),
        # Validation writes the posted values into the other one.
        "newsletter": Newsletter.objects.get_current(),
    }
    return desk_page(request, "subscribers/field_and_tag_settings/settings_form.html", context)
