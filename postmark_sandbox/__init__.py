"""Local server that speaks Postmark's API, for development, demos and tests.

Imports run one way, from the bottom: http, rules, state, faults, events, sandbox, then
postmark_api, control_api and pages, then server.
"""
