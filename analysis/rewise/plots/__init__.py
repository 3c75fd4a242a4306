"""Figures and reports of studies, tasks, tunings and curves. The program calls plot.py and
report.py."""
