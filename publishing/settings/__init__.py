"""Pages of the newsletter's settings: its name and texts, its sender, its look."""
