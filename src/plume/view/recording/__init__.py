"""What the views show, computed: numpy records of a model's inside."""
