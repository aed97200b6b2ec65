"""How a trained model is put to a task: what learns, how its states become one vector, and the head on top."""
