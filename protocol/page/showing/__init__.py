"""Shows a page to the author of actions: outlines, names, covered pictures."""
