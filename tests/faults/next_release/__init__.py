"""A Homing of some later release, for tests: what its migrations will look like."""
