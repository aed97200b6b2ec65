"""Prompting: few examples, a template and words for the labels; what is learned from them, and how."""
