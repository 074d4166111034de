"""Check domain records and links within the time that a page may take."""
