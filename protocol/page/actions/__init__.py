"""Actions on a page, and what tells their elements from others."""
