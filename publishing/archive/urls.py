"""The URLs of the archive, below /archive/."""

import unicodedata

from django.urls import path, register_converter

from publishing.archive import archive_pages
from publishing.editions.slug_from_title import is_address


class AddressConverter:
    """Converter for an issue's address, which may have letters of any script."""

    regex = "[^/]{1,80}"

    def to_python(self, value: str) -> str:
        # Join letters and accents again, as in stored addresses: some programs split “é” into two
        # characters.
        composed = unicodedata.normalize("NFC", value)
        if not is_address(composed):
            raise ValueError("no issue has this address")
        return composed

    def to_url(self, value: str) -> str:
        return value


register_converter(AddressConverter, "address")

app_name = "archive"
urlpatterns = [
    path("", archive_pages.index, name="index"),
    path("feed.xml", archive_pages.feed, name="feed"),
    path("<address:slug>/", archive_pages.issue, name="issue"),
]
