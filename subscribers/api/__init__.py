"""API calls about readers and imports. They translate JSON and make no decisions."""
