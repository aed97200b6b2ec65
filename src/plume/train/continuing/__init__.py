"""Going on with a trained model, plume's own or of a Hugging Face directory: which recipe, from which weights, with which new words."""
