"""The report of a study: one page that opens offline, the same as Markdown, and its numbers as CSV."""

from plume.report.write import gains_of, verdict_of, write_report

__all__ = ["gains_of", "verdict_of", "write_report"]
