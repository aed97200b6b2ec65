"""How the cells of a study are run: engines, processes, the work of one cell, and the board that shows it."""
