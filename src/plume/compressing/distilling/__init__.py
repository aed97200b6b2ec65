"""A teacher, a student, and what of the two is compared."""
