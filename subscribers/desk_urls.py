"""The addresses of the desk that are about readers, below /admin/newsletters/."""

from django.urls import path

from subscribers.views.desk_reader import act_on_reader, reader_file, show_reader
from subscribers.views.desk_readers import readers, readers_file

app_name = "readers"

urlpatterns = [
    path("readers/", readers, name="list"),
    path("readers/readers.csv", readers_file, name="file"),
    path("readers/<int:reader>/", show_reader, name="reader"),
    path("readers/<int:reader>/record.json", reader_file, name="reader_file"),
    path("readers/<int:reader>/<slug:name>/", act_on_reader, name="act"),
]
