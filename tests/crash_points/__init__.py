"""
Crash points: every instant at which a worker can be ended so that it matters, ended for real.

A scenario is played once to number its points. Then it is played again for each point, by a child
process that is killed there with SIGKILL; others take over, and the counts and the provider's
record are compared. In pairs, whoever takes over is killed too. How to read a failure:
docs/proof/README.md.
"""
