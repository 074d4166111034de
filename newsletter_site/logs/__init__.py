"""
The log: what a line looks like, which lines there are for requests, and what never stands in one.

docs/logs.md is its page. The ids of a line are bound by `delivery/log_context.py`.
"""
