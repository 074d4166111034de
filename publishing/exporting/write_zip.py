"""Write the export as a ZIP, to any output that only takes bytes in order."""

import zipfile
from collections.abc import Callable, Iterable
from io import RawIOBase
from typing import IO

from publishing.exporting.export_files import ExportFile


def write_zip(
    output: IO[bytes] | RawIOBase, files: Iterable[ExportFile], on_piece: Callable[[str], None]
) -> None:
    """Write the files into a ZIP. `on_piece` gets the path after each piece of it."""
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:
        for file in files:
            # The size is not known before, and a list of deliveries may exceed 4 GB.
            with archive.open(file.path, "w", force_zip64=True) as entry:
                for piece in file.pieces:
                    entry.write(piece)
                    on_piece(file.path)
