"""Save a filter of the list of readers under a name, or delete it."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from subscribers.desk.reader_filter import read_filter
from subscribers.desk.saved_filters import delete_filter, save_filter
from subscribers.desk_frame import may_manage_readers, user_id_of
from subscribers.fields.reader_values import shown_again
from subscribers.links.see_other import see_other


@may_manage_readers
@require_POST
def save(request: HttpRequest) -> HttpResponse:
    """Save the filter of the page; after an error, show the page and the name again."""
    chosen, name = read_filter(request.POST.dict()), request.POST.get("name", "")
    if why_not := save_filter(name, chosen, user_id_of(request)):
        messages.warning(request, why_not)
        return see_other(reverse("readers:list") + chosen.query(name=shown_again(name)))
    messages.success(
        request, _("The filter is saved. Everyone who manages readers sees it above the list.")
    )
    return see_other(reverse("readers:list") + chosen.query())


@may_manage_readers
@require_POST
def delete(request: HttpRequest, saved: int) -> HttpResponse:
    """Delete a saved filter. The readers stay as they are."""
    name = delete_filter(saved, user_id_of(request))
    if name:
        messages.success(request, _("The filter “{name}” is deleted.").format(name=name))
    else:
        messages.warning(request, _("There was nothing to do. Someone did this already."))
    return see_other(reverse("readers:list"))
