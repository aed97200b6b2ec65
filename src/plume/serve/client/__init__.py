"""A client of a running server, in Python: `plume.Client` and `plume.AsyncClient`. It needs neither torch nor the server's packages."""
