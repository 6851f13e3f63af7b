"""A page and what is done on it: observations, actions, how an action names its element, and what is redacted."""
