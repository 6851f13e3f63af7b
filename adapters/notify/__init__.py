"""Telling programs outside of this node how something ended: a webhook, a command."""
