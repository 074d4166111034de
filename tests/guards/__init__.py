"""
Every guard of the protocol is taken out once, and a test has to fail without it.

    python -m tests.guards [WORDS …] [--changed-since REV] [--at-most N] [--share K/N --seed S]

A suite that is green says that nothing is broken; only a suite that turns red without a guard says
that anybody would notice if it were. Catalogue, runner and what it relies on: docs/proof/guards.md.
"""
