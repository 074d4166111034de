"""Make the test database from a migrated template, and clean it after tests."""
