"""Measurements of Homing's speed, each on a separate site.

libpq reads missing options from environment variables, and an address there overrides a socket
folder. So this module clears these variables: a shell's settings must never lead a benchmark to
another database.
"""

import os

for name in [name for name in os.environ if name.startswith("PG")]:
    del os.environ[name]
