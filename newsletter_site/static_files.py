"""
The storage of static files: after `collectstatic` with a hash in their names, otherwise without.

Browsers keep files with a hash for ever. A page without collected files still has its style sheet.
"""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class CollectedStaticFiles(CompressedManifestStaticFilesStorage):
    """Collected files have hashed names, all others their own."""

    # A script must not import an old version of another one.
    support_js_module_import_aggregation = True

    def stored_name(self, name: str) -> str:
        """The name in a page."""
        try:
            return super().stored_name(name)
        except ValueError:
            return name

    @property
    def is_collected(self) -> bool:
        """Whether files were collected."""
        return bool(self.hashed_files)
