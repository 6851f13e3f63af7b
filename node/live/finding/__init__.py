"""Finds the element of an action, and checks what an action file asserts."""
