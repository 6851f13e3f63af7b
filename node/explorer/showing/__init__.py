"""What people are shown of a search: the summary, the HTML report and the picture of the tree. Changes nothing."""
