"""Drills: a fault makes each alert fire, and the lines of the runbook end it."""
