"""Database, blobs and migrations below the tables."""
