"""Static files with a hash in their names after `collectstatic`, otherwise without."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class CollectedStaticFiles(CompressedManifestStaticFilesStorage):
    """Collected files have hashed names, which browsers keep for ever; others their own."""

    # A script must not import an old version of another one.
    support_js_module_import_aggregation = True

    def stored_name(self, name: str) -> str:
        try:
            return super().stored_name(name)
        except ValueError:
            return name

    @property
    def is_collected(self) -> bool:
        return bool(self.hashed_files)
