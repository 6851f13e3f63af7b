"""Risk classification of actions and requests by words and addresses."""
