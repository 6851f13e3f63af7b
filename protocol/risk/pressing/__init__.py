"""The class of an action on a control."""
