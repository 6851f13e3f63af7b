"""goal."""
