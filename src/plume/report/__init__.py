"""The report of a study: one page that opens offline, the same as Markdown, and its numbers as CSV."""

from plume.report.write import write_report

__all__ = ["write_report"]
