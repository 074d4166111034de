"""Local server that speaks Postmark's API, for development, demos and tests.

A module imports only from modules that come earlier in this list: http, rules, state, faults,
events, sandbox_state, then postmark_api, control_api and pages, then server.
"""
