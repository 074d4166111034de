"""The URLs of the desk about readers, below /admin/newsletters/."""

from django.urls import path

from subscribers.desk import reader_view, saved_filter_view
from subscribers.desk.many_readers import change_view
from subscribers.desk.readers_view import embed_form, readers, readers_file, suppressed_file
from subscribers.field_and_tag_settings import field_and_tag_view
from subscribers.importing import import_view

app_name = "readers"

urlpatterns = [
    path("readers/", readers, name="list"),
    path("readers/readers.csv", readers_file, name="file"),
    path("readers/suppressed.csv", suppressed_file, name="suppressed_file"),
    path("readers/filters/", saved_filter_view.save, name="save_filter"),
    path("readers/filters/<int:saved>/delete/", saved_filter_view.delete, name="delete_filter"),
    path("readers/form/", embed_form, name="embed_form"),
    path("readers/add/", reader_view.add, name="add"),
    path("readers/change/", change_view.change, name="change"),
    path("readers/changes/<int:change_id>/", change_view.changing, name="changing"),
    path("readers/changes/<int:change_id>/stop/", change_view.stop, name="stop_change"),
    path("readers/<int:reader>/", reader_view.show_reader, name="reader"),
    path("readers/<int:reader>/record.json", reader_view.reader_file, name="reader_file"),
    path("readers/<int:reader>/edit/", reader_view.edit, name="edit"),
    path("readers/<int:reader>/address/", reader_view.correct, name="correct"),
    path("readers/<int:reader>/<slug:name>/", reader_view.act_on_reader, name="act"),
    path("settings/", field_and_tag_view.settings_page, name="settings"),
    path("settings/fields/add/", field_and_tag_view.add_field, name="add_field"),
    path("settings/fields/<slug:key>/", field_and_tag_view.edit_field, name="edit_field"),
    path("settings/fields/<slug:key>/move/", field_and_tag_view.move_field, name="move_field"),
    path(
        "settings/fields/<slug:key>/delete/", field_and_tag_view.delete_field, name="delete_field"
    ),
    path("settings/tags/add/", field_and_tag_view.edit_tag, name="add_tag"),
    path("settings/tags/<int:tag>/", field_and_tag_view.edit_tag, name="edit_tag"),
    path("settings/tags/<int:tag>/delete/", field_and_tag_view.delete_tag, name="delete_tag"),
    path("move/", import_view.move_page, name="move"),
    path("imports/", import_view.imports, name="imports"),
    path("imports/<int:import_id>/", import_view.show_import, name="import"),
    path("imports/<int:import_id>/rejects.csv", import_view.rejects_csv, name="rejects"),
    path("imports/<int:import_id>/columns/", import_view.choose_columns, name="columns"),
    path("imports/<int:import_id>/import/", import_view.decide_import, name="decide"),
    path("imports/<int:import_id>/undo/", import_view.undo_import, name="undo"),
    path("imports/<int:import_id>/drop/", import_view.discard_import, name="discard"),
]
