"""Judges the requests of a page, holds back those that somebody must allow, and notes what they led to."""
