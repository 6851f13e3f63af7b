"""Controls of our own whose looks and effects differ, in both directions."""
