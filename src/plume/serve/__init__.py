"""Serving: every model and index that plume can make, behind one port. `plume serve` and `plume.Client` come in here."""
