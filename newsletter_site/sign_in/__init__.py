"""Signing in: who may try, how often, and what is asked of them."""
