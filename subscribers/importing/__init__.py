"""Import readers from a CSV file. docs/importing.md says what users may rely on."""

from subscribers.importing.file_format.not_a_csv import UnreadableFileError
from subscribers.importing.import_file import import_file
from subscribers.importing.report import Counts, ImportReport, Progress

__all__ = ["Counts", "ImportReport", "Progress", "UnreadableFileError", "import_file"]
