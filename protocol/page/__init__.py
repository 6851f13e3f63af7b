"""Pages: observations, actions, locators, and redaction."""
