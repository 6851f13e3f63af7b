"""Text of a page that speaks to the model that reads it."""
