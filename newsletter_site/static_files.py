"""
How the site names its static files: with a hash of their content once they were collected.

`manage.py collectstatic` writes them to STATIC_ROOT under such names, and beside each a compressed
one; a browser may keep what has such a name for ever. Before that, and for a file that came
later, a page names the file as it stands in the checkout. A page without a style sheet is worse
than one whose style sheet is asked for again every minute.
"""

from __future__ import annotations

from whitenoise.storage import CompressedManifestStaticFilesStorage


class CollectedStaticFiles(CompressedManifestStaticFilesStorage):
    """The collected files by their hashed names, every other file by its own."""

    # Scripts import one another: an old part must not meet a new whole.
    support_js_module_import_aggregation = True

    def stored_name(self, name: str) -> str:
        """The name that a page asks for."""
        try:
            return super().stored_name(name)
        except ValueError:
            return name

    @property
    def is_collected(self) -> bool:
        """Whether anything was collected at all."""
        return bool(self.hashed_files)
