"""Actions on a page, and the evidence that distinguishes their elements from others."""
