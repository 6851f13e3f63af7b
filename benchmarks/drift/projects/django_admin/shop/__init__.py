"""The application of the project beside it."""
