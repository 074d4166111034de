"""A local server that speaks Postmark's API, for development, demonstrations and tests.

It delivers nothing, keeps every message it accepted, and goes wrong on request. It knows nothing
of the application that talks to it and runs with or without Django.
"""
