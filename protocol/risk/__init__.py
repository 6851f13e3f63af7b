"""Classifies the risk of actions and requests, by the words of controls and by addresses."""
