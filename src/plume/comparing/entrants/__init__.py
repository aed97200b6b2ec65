"""The lines of a study: what may be compared, each kind a file that says how its model directory comes about."""
