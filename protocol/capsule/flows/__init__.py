"""Judges how a site logs in and whether somebody is logged in."""
