"""The pages of the snippets: the list, the form, and the question before deletion."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from delivery.control_characters import clean_name
from publishing.content.edition_content import remove_invisible
from publishing.desk_access import desk_page, may_write, user_id_of
from publishing.models import LONGEST_SNIPPET_NAME, Snippet
from publishing.snippets.save_snippet import (
    LONGEST_TEXT,
    delete_snippet,
    load_snippets,
    markup_by_name,
    save_snippet,
)
from subscribers.links.see_other import see_other


class _TextField(forms.CharField):
    def to_python(self, value: Any) -> str:
        """Convert line ends to LF, and remove characters that XML does not allow.

        NUL characters stay here, because the field refuses them later.
        """
        return remove_invisible(super().to_python(value) or "").strip()


class SnippetForm(forms.Form):
    """The name and the Markdown of a snippet."""

    name = _TextField(
        label=gettext_lazy("Name"),
        max_length=LONGEST_SNIPPET_NAME,
        help_text=gettext_lazy(
            "Shown in the composer’s menu, such as “Signature”. Readers never see it."
        ),
    )
    text = _TextField(
        label=gettext_lazy("Text"),
        max_length=LONGEST_TEXT,
        widget=forms.Textarea(attrs={"rows": 12, "dir": "auto"}),
        help_text=gettext_lazy("Markdown, as in a letter. Images and merge fields work too."),
    )

    def __init__(self, data: Any, snippet: Snippet) -> None:
        super().__init__(data, auto_id="%s", initial={"name": snippet.name, "text": snippet.text})

    def clean_name(self) -> str:
        name = clean_name(self.cleaned_data["name"])
        if not name:
            raise forms.ValidationError(self.fields["name"].error_messages["required"])
        return name


LIST = "desk:snippets"


@may_write
@require_safe
def list_snippets(request: HttpRequest) -> HttpResponse:
    """List the snippets, or return the composer's menu of them."""
    if "menu" in request.GET:
        menu = {"snippets": markup_by_name(request.GET["menu"])}
        return render(request, "publishing/snippets/menu.html", menu)
    context = {"snippets": load_snippets()}
    return desk_page(request, "publishing/snippets/snippets.html", context)


@may_write
@require_http_methods(["GET", "HEAD", "POST"])
def add_snippet(request: HttpRequest) -> HttpResponse:
    """Show an empty form; on POST add the snippet."""
    return _edit(request, Snippet(), _("Add a snippet"))


@may_write
@require_http_methods(["GET", "HEAD", "POST"])
def edit_snippet(request: HttpRequest, snippet: int) -> HttpResponse:
    """Show the form of a snippet; on POST save the snippet."""
    found = _snippet_or_404(snippet)
    delete = reverse("desk:delete_snippet", args=[snippet])
    return _edit(request, found, found.name, delete=delete)


@may_write
@require_http_methods(["GET", "HEAD", "POST"])
def remove_snippet(request: HttpRequest, snippet: int) -> HttpResponse:
    """Ask before a snippet is deleted; on POST delete the snippet."""
    if request.method == "POST":
        if delete_snippet(snippet, user_id_of(request)):
            messages.success(request, _("The snippet is deleted."))
        return see_other(reverse(LIST))
    found = _snippet_or_404(snippet)
    heading = _("Delete the snippet “{name}”?").format(name=found.name)
    question = _("Drafts and letters that already have its text do not change.")
    return _page(request, "confirm_delete.html", {"heading": heading, "question": question})


def _edit(request: HttpRequest, snippet: Snippet, heading: str, **context: str) -> HttpResponse:
    form = SnippetForm(request.POST if request.method == "POST" else None, snippet)
    if form.is_bound and form.is_valid():
        snippet.name, snippet.text = form.cleaned_data["name"], form.cleaned_data["text"]
        if save_snippet(snippet, user_id_of(request)):
            messages.success(request, _("Saved."))
            return see_other(reverse(LIST))
        sentence = _("There is a snippet “{name}” already. Choose another name.")
        form.add_error("name", sentence.format(name=snippet.name))
    return _page(request, "settings_form.html", {"form": form, "heading": heading, **context})


def _page(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    context |= {"back": reverse(LIST), "place": _("Snippets")}
    return desk_page(request, f"subscribers/field_and_tag_settings/{template}", context)


def _snippet_or_404(number: int) -> Snippet:
    found = Snippet.objects.filter(pk=number).first()
    if found is None:
        raise Http404(_("This snippet does not exist. Somebody may have deleted it."))
    return found
