"""
A process that has everything loaded and carries out one management command after another.

`python -m tests.soak.commands` reads JSON lists, such as `["publish", "--title=Swifts"]`, one a
line, and the command prints. What a command costs is then not the start of a process, which would
be in the way of those that are being measured.
"""

from __future__ import annotations

import json
import sys

import django
from django.core.management import call_command

if __name__ == "__main__":
    django.setup()
    for line in sys.stdin:
        call_command(*json.loads(line))
        sys.stdout.flush()
