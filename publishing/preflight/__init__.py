"""What is looked at before an issue goes out: facts in, findings out."""
