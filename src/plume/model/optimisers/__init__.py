"""How weights are changed from their gradients; `Training.optimiser` names one."""
