"""How good answers are, by the field's own libraries."""
