"""Checks before an issue is published. Each reads a context and returns findings."""
