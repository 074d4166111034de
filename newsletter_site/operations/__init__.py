"""What operators and their machines ask of the site: whether it is well, and how much it did."""
