"""The engine: a queue for each model and operation. What arrives while the model runs is the next batch; nothing waits for company."""
