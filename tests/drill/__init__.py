"""Drills: each alert fires by its fault and ends by the lines of the runbook."""
