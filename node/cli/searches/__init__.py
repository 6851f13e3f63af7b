"""Commands for searches and schedules."""
