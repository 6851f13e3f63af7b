"""Secrets and personal data: found in text and taken out of it."""
