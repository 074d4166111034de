"""Measurements of Homing's speed, each on a separate site.

If an option of a connection is missing, libpq reads it from an environment variable. In libpq, a
server's address in a variable takes precedence over a socket folder. So this module clears libpq's
variables: a shell's settings must never lead a benchmark to another database.
"""

import os

for name in [name for name in os.environ if name.startswith("PG")]:
    del os.environ[name]
