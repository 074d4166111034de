"""The URLs of the desk, below /admin/newsletters/."""

from django.urls import path

from publishing.actions.action_views import (
    action,
    describe_time,
    listing,
    reschedule,
    send_to_remaining,
)
from publishing.approval.approval_view import approve_draft
from publishing.composer.audience_view import count_audience
from publishing.composer.composer_view import begin, edit, to_markdown, write
from publishing.composer.preview_view import draft_preview, next_version_preview, preview
from publishing.dashboard.activity_view import log
from publishing.dashboard.dashboard_view import acknowledge_alarms, issues
from publishing.drafts.draft_pages import delete
from publishing.exporting.export_view import download_export, export_page
from publishing.images.images_view import upload_image
from publishing.images.prepare_video import prepare_video
from publishing.look.look_page import look_page, look_preview
from publishing.past_issues.move_issues_view import move_page
from publishing.preflight.preflight_view import (
    change_address,
    check_draft,
    choose_archive,
    run_external_checks,
)
from publishing.progress.outcomes_csv import readers_csv
from publishing.progress.progress_view import progress, progress_json
from publishing.publish.confirm_view import publish_one
from publishing.publish.publish_view import publishing_form
from publishing.publish.welcome_view import welcome_page
from publishing.receipts.receipt_view import check_receipt, receipt, receipt_json
from publishing.rehearsal.rehearsal_view import rehearsal_page
from publishing.settings.newsletter_view import newsletter_page, zone_time
from publishing.settings.sender_view import check_sender_domain, sender_page, use_sender
from publishing.snippets.snippets_view import (
    add_snippet,
    edit_snippet,
    list_snippets,
    remove_snippet,
)
from publishing.test_letters.send_test_letter_view import send_test_letter, test_letter_page

app_name = "desk"
urlpatterns = [
    path("", publishing_form, name="publish"),
    path("write/", write, name="write"),
    path("write/preview/", next_version_preview, name="next_version_preview"),
    path("audience/", count_audience, name="audience"),
    path("when/", describe_time, name="when"),
    path("drafts/", begin, name="drafts"),
    path("drafts/<uuid:draft>/", edit, name="draft"),
    path("drafts/<uuid:draft>/delete/", delete, name="draft_delete"),
    path("drafts/<uuid:draft>/markdown/", to_markdown, name="draft_to_markdown"),
    path("drafts/<uuid:draft>/preview/", draft_preview, name="draft_preview"),
    path("drafts/<uuid:draft>/check/", check_draft, name="check"),
    path("drafts/<uuid:draft>/rehearsal/", rehearsal_page, name="rehearsal"),
    path("drafts/<uuid:draft>/address/", change_address, name="draft_address"),
    path("drafts/<uuid:draft>/archive/", choose_archive, name="draft_archive"),
    path("drafts/<uuid:draft>/looks/", run_external_checks, name="looks"),
    path("drafts/<uuid:draft>/publish/", publish_one, name="publish_draft"),
    path("preview/", preview, name="preview"),
    path("pictures/", upload_image, name="images"),
    path("videos/", prepare_video, name="prepare_video"),
    path("drafts/<uuid:draft>/approve/", approve_draft, name="approve_draft"),
    path("test/", send_test_letter, name="test"),
    path("test/<int:number>/", test_letter_page, name="test_letter"),
    path("issues/", issues, name="issues"),
    path("issues/alarms/", acknowledge_alarms, name="acknowledge_alarms"),
    path("log/", log, name="log"),
    path("welcome/", welcome_page, name="welcome"),
    path("move/issues/", move_page, name="move_issues"),
    path("download/", export_page, name="export"),
    path("download/<int:export_id>/", download_export, name="download_export"),
    path("snippets/", list_snippets, name="snippets"),
    path("snippets/add/", add_snippet, name="add_snippet"),
    path("snippets/<int:snippet>/", edit_snippet, name="edit_snippet"),
    path("snippets/<int:snippet>/delete/", remove_snippet, name="delete_snippet"),
    path("settings/look/", look_page, name="look"),
    path("settings/look/preview/", look_preview, name="look_preview"),
    path("settings/newsletter/", newsletter_page, name="newsletter_settings"),
    path("settings/newsletter/zone/", zone_time, name="zone_time"),
    path("settings/sender/", sender_page, name="sender"),
    path("settings/sender/use/", use_sender, name="use_sender"),
    path("settings/sender/check/", check_sender_domain, name="check_sender_domain"),
    path("<uuid:issue>/", progress, name="progress"),
    path("<uuid:issue>/progress.json", progress_json, name="progress_json"),
    path("<uuid:issue>/readers.csv", readers_csv, name="readers_csv"),
    path("<uuid:issue>/receipt/", receipt, name="receipt"),
    path("<uuid:issue>/receipt/receipt.json", receipt_json, name="receipt_json"),
    path("receipts/", check_receipt, name="check_receipt"),
    path("<uuid:issue>/listing/", listing, name="listing"),
    path("<uuid:issue>/remaining/", send_to_remaining, name="send_to_remaining"),
    path("<uuid:issue>/reschedule/", reschedule, name="reschedule"),
    path("<uuid:issue>/<slug:name>/", action, name="action"),
]
