"""Check domain records and links outside, within the time that a page may take."""
