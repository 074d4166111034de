"""The URLs of the archive, below /archive/."""

import unicodedata

from django.urls import path, register_converter

from publishing.archive import archive_pages
from publishing.editions.slug_from_title import is_address


class AddressConverter:
    """The address of an issue, in any script."""

    regex = "[^/]{1,80}"

    def to_python(self, value: str) -> str:
        # Some programs split “é” into a letter and its accent. Addresses are stored composed.
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
