"""The database that tests use: a migrated template, a copy for each run, and its cleaning."""
