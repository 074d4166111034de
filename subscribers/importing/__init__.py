"""
Import readers from a file: read it (`file_format/`), apply its rows (`apply.py`), report.

An import only ever adds: it changes no known reader and brings nobody back who left.
docs/importing.md says what users may rely on.
"""

from subscribers.importing.file_format.not_a_csv import UnreadableFileError
from subscribers.importing.import_file import import_file
from subscribers.importing.report import Counts, ImportReport, Progress

__all__ = ["Counts", "ImportReport", "Progress", "UnreadableFileError", "import_file"]
