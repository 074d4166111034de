"""Take out each guard of the protocol once: a test must fail without it.

    python -m tests.guards [WORDS …] [--changed-since REV] [--at-most N --seed S]

Passing tests show that nothing is broken. Only a test that fails without a guard shows that its
loss would be noticed. docs/proof/guards.md explains the catalogue and the program.
"""
