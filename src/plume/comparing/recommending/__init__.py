"""Which model to ship: quality over all tasks, the chances that follow from its noise, the choice, and what would settle an open one."""
