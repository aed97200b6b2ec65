"""How weights are changed from their gradients; `Training.optimizer` names one."""
