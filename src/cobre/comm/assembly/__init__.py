"""Assembly of a group: ranks find and authenticate each other before the first collective."""
