"""Give static files hashed names in `collectstatic`."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class CollectedStaticFiles(CompressedManifestStaticFilesStorage):
    """Collected files, with hashed names, so that browsers can cache them permanently."""

    # Also replace names in JavaScript imports, so that no script imports an old version of another
    # script.
    support_js_module_import_aggregation = True

    def stored_name(self, name: str) -> str:
        try:
            return super().stored_name(name)
        except ValueError:
            return name

    @property
    def is_collected(self) -> bool:
        return bool(self.hashed_files)
