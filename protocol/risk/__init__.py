"""How dangerous an action or a request is: risk classes, and the words and addresses that decide them."""
