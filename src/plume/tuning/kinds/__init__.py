"""What the tasks of one kind share: a label or a number for a text, labels of words, an answer in a text, a text for a text."""
