"""HTTP: the application, what stands before every endpoint (keys, limits, time-outs, logs), and the endpoints."""
