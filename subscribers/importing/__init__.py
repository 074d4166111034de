"""
Importing readers from a file: read it (`reading`), judge each row (`judging`), put it into the
list (`applying`), and say what happened (`report`). `import_file` goes through these steps.

Nothing else adds readers in bulk. An import only ever adds: it changes nobody who is known and
brings nobody back who left. docs/importing.md says what users may rely on.
"""

from subscribers.importing.file_format.read_file import UnreadableFileError
from subscribers.importing.file_format.validate_row import LeftOut
from subscribers.importing.import_file import import_file
from subscribers.importing.report import Counts, ImportReport, Progress

__all__ = ["Counts", "ImportReport", "LeftOut", "Progress", "UnreadableFileError", "import_file"]
