"""Pages of the newsletter's settings: its name and words, its sender and its look."""
