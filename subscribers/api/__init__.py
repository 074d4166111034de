"""API calls about readers and imports. They only translate JSON."""
