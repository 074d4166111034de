"""Settings of the tests that wait for a signal while Django loads them."""

import signal
import sys

print("Django loads the settings", file=sys.stderr, flush=True)
signal.pause()
