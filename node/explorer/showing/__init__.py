"""Shows a search to people: the summary, the HTML report and the picture of the tree. Changes nothing."""
