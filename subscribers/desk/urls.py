"""The addresses of the desk that are about readers, below /admin/newsletters/."""

from django.urls import path

from subscribers.desk.reader_view import act_on_reader, reader_file, show_reader
from subscribers.desk.readers_view import embed_form, readers, readers_file
from subscribers.importing.import_view import (
    decide_import,
    discard_import,
    imports,
    rejects_csv,
    show_import,
)

app_name = "readers"

urlpatterns = [
    path("readers/", readers, name="list"),
    path("readers/readers.csv", readers_file, name="file"),
    path("readers/form/", embed_form, name="embed_form"),
    path("readers/<int:reader>/", show_reader, name="reader"),
    path("readers/<int:reader>/record.json", reader_file, name="reader_file"),
    path("readers/<int:reader>/<slug:name>/", act_on_reader, name="act"),
    path("imports/", imports, name="imports"),
    path("imports/<int:import_id>/", show_import, name="import"),
    path("imports/<int:import_id>/rejects.csv", rejects_csv, name="rejects"),
    path("imports/<int:import_id>/import/", decide_import, name="decide"),
    path("imports/<int:import_id>/drop/", discard_import, name="discard"),
]
