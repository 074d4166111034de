"""Update and compile the catalogues in `locale/`, and list their faults.

To run it: `python -m tests.translations`. New texts are added without a translation, and texts that
the product no longer has are removed. The exit code is 1 if a catalogue needs work.
"""

from __future__ import annotations

import os
import sys

import django


def main() -> int:
    """Write the catalogues; return 1 if there are faults."""
    from tests.translations.catalogues import LANGUAGES, as_mo, as_po, faults, po_path, updated

    found = []
    for code in LANGUAGES:
        path, catalogue = po_path(code), updated(code)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(as_po(catalogue))
        path.with_suffix(".mo").write_bytes(as_mo(catalogue))
        found += faults(code)
    print(*found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "newsletter_site.settings")
    os.environ.setdefault("DEBUG", "on")
    django.setup()
    sys.exit(main())
