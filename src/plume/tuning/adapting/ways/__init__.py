"""The ways to adapt a model to a task, one file each: `plume tune --mode NAME` finds them by their place."""
