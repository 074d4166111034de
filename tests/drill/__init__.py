"""Every alert made to fire by the fault it is about, and ended by the lines of the runbook."""
