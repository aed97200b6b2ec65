"""plume: a workbench for pre-trained language models."""

from __future__ import annotations

from plume._version import __version__
