"""The pages of readers. Views only translate; what happens stands in its own module."""
