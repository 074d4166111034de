"""Checks before an issue is published: a context goes in, findings come out."""
