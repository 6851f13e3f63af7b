"""Three small pages for the browser tests, and the server that logs what reaches it."""
