"""Shows a page to the author of actions: outlines, names, and pictures with covered secrets."""
