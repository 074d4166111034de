"""Crash points: every instant at which killing a worker matters.

A scenario is played once to number its points. Then a child process plays the scenario again for
each point, and is killed there with SIGKILL. Other processes take over, and the counts are compared
with the provider's record. With `--pairs`, the process that takes over is killed too.
docs/proof/README.md explains how to read a failure.
"""
