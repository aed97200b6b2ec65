"""The ways to use a prompt, one file each: `plume prompt --method NAME` finds them by their place."""
