"""Deleting a letter that was kept from a form that was posted while its author was signed out."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_POST

from idempotency.key import FIELD, BadKey, key_given
from publishing.desk_access import author_of, may_publish
from publishing.drafts import unsent_forms
from subscribers.links.see_other import see_other


@may_publish
@require_POST
def delete_kept_letter(request: HttpRequest) -> HttpResponse:
    """Delete the author's own kept letter that the posted key names."""
    key = key_given(request.POST.getlist(FIELD), None)
    if not isinstance(key, BadKey) and unsent_forms.forget(author_of(request), key):
        messages.info(request, "The text that was kept for you is deleted.")
    return see_other(reverse("desk:publish"))
