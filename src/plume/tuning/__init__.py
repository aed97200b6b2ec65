"""From a trained model and labelled examples to one that predicts."""
