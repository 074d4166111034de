"""The test database: a migrated template, its copies, and their cleaning."""
