"""Small parts that several rooms use: background tasks, files, JSON values, exit codes, text for a terminal.

Owns no stored data. Never knows what a session, a peer or a search is. Each part is imported from its own module.
"""
