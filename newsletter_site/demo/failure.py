"""The only error of the demo: one sentence for the person at the terminal."""


class DemoError(Exception):
    """The demo cannot go on. Its text says what was found and what to do."""
