"""Imported by the server of `forks` alone: a SIGTERM to all processes at once, as schedulers send it, must not take the server from the runs.

They are told by the study, save themselves, and need the server to say how they ended.
"""

import signal

signal.signal(signal.SIGTERM, signal.SIG_IGN)
