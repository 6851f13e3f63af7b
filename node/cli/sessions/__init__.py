"""Commands for recorded and live sessions."""
