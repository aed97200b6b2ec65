"""What a study will run: its entrants, the grid of cells, the plan, and the rehearsal before anything is spent."""
