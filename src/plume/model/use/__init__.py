"""A trained model at use: what it can do, filling, writing and scoring."""
