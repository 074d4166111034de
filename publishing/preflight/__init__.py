"""Checks before an issue is published.

Each check reads a context and returns findings.
"""
