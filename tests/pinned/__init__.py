"""What decisions come to on made inputs, as text: a change of any of them shows in a diff, and is meant or is not."""
