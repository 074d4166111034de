"""API calls about readers and imports. The calls only translate JSON."""
