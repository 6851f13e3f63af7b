"""Action files: read, written, described."""
