"""
What is called fast is measured here, each measurement on a site of its own.

What libpq is not told it takes from the environment, and of a server that it is told by its folder
it would even take the address. So nothing of that is left: a shell that knows of another database
leads nobody into it.
"""

import os

for name in [name for name in os.environ if name.startswith("PG")]:
    del os.environ[name]
