"""Checks before an issue is published: facts in, findings out."""
