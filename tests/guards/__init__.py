"""Take out each guard of the protocol once; check that a test fails without it.

    python -m tests.guards [WORDS …] [--changed-since REV] [--at-most N --seed S]

Passing tests show that the code works. Only a test that fails without a guard shows that a loss of
this guard would be noticed. docs/proof/guards.md explains the catalogue and the program.
"""
