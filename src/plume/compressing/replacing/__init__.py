"""Modules of a trained network are replaced, one by one and at random, by smaller ones that learn in their place (BERT-of-Theseus)."""
