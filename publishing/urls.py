"""The author's addresses, below /admin/newsletters/."""

from django.urls import path

from publishing.views.action import action
from publishing.views.issues import issues
from publishing.views.kept_letters import delete_kept_letter
from publishing.views.listing import listing
from publishing.views.progress import progress, progress_json
from publishing.views.publishing_form import publishing_form

app_name = "desk"
urlpatterns = [
    path("", publishing_form, name="publish"),
    path("kept/delete/", delete_kept_letter, name="delete_kept"),
    path("issues/", issues, name="issues"),
    path("<uuid:issue>/", progress, name="progress"),
    path("<uuid:issue>/progress.json", progress_json, name="progress_json"),
    path("<uuid:issue>/listing/", listing, name="listing"),
    path("<uuid:issue>/<slug:name>/", action, name="action"),
]
