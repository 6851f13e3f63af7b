"""distrust."""
