"""Opens sealed logins for work, and gives them out."""
