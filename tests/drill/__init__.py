"""Every alert made to fire once by the fault it is about, and the runbook's lines typed."""
