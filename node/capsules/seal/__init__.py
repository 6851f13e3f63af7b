"""Seals logins, keeps them, and judges their use."""
