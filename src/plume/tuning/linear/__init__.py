"""TF-IDF + linear: a model of a task's own examples, with nothing pre-trained below it. What all others have to beat."""
