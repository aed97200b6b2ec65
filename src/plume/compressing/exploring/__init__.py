"""Many ways to make one model small, side by side: what each costs, what it is worth, and which no other beats."""
