"""The second wall: connects a browser only to what a guard has let through, and looks at what is sent."""
