"""A local server that speaks Postmark's API, for development, demonstrations and tests.

It sends no mail, keeps every message it accepts, and fails on request. It knows nothing of the
application that talks to it and needs no Django project. Imports run one way, from the bottom:
http, rules, state, faults, events, sandbox, then postmark_api, control_api and pages, then server.
"""
