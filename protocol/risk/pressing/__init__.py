"""The risk class of an action on a control."""
