"""Static files, which have hashed names after `collectstatic`."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class CollectedStaticFiles(CompressedManifestStaticFilesStorage):
    """Collected files, with hashed names, so that browsers can cache them permanently."""

    # Replace the names in JavaScript imports too, so that a script does not import an old version
    # of another script.
    support_js_module_import_aggregation = True

    def stored_name(self, name: str) -> str:
        try:
            return super().stored_name(name)
        except ValueError:
            return name

    @property
    def is_collected(self) -> bool:
        return bool(self.hashed_files)
