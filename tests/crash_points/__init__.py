"""Crash points: every instant at which killing a worker matters.

A scenario is played once to number its points. Then it is played again for each point by a child
process that is killed there with SIGKILL. Other processes take over, and the counts are compared
with the provider's record. In pairs, the process that takes over is killed too.
docs/proof/README.md explains how to read a failure.
"""
