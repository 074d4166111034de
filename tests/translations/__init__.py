"""The texts that people read, and their translations in `locale/`."""
