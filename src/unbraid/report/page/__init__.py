"""The report: a run, a comparison of runs or a study as one HTML file that needs nothing else."""

from unbraid.report.page.build import make_report, write_report
from unbraid.report.page.model import QUICK, Choices

__all__ = ["QUICK", "Choices", "make_report", "write_report"]
