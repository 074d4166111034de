"""The pages of the desk and of the archive. They translate; what happens stands elsewhere."""
