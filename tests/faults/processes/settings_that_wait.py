"""Settings for tests: while Django loads this module, it waits for a signal."""

import signal
import sys

print("Django loads the settings", file=sys.stderr, flush=True)
signal.pause()
