"""Choose the archive address of a draft's issue, before any copy links to it."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from publishing.desk_access import may_write
from publishing.editions.issue_address import choose_address
from publishing.editions.versions import VersionRefusedError
from publishing.preflight.preflight_view import check_page, get_draft_or_404
from subscribers.links.see_other import see_other


@may_write
@require_http_methods(["GET", "HEAD", "POST"])
def change_address(request: HttpRequest, draft: uuid.UUID) -> HttpResponse:
    """Store the posted address in the draft, and return to the check sheet.

    If the address is refused, the check sheet shows it again with the reason.
    """
    found = get_draft_or_404(draft)
    if request.method == "POST":
        try:
            chosen = choose_address(found, request.POST.get("address", ""))
        except (ValueError, VersionRefusedError) as error:
            found = get_draft_or_404(draft)
            if found.edition is None:
                typed = request.POST.get("address", "")
                return check_page(request, found, address_error=str(error), typed_address=typed)
            messages.warning(request, str(error))
        else:
            sentence = _("The address is now “{address}”.").format(address=chosen)
            automatic = _("The address follows the title again.")
            messages.success(request, sentence if chosen else automatic)
    return see_other(reverse("desk:check", args=[draft]))
