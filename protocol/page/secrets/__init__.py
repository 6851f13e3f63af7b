"""Finds secrets and personal data in text, and redacts them."""
