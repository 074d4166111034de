"""A made-up later release of Homing, with its migrations."""
