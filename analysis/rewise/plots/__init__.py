"""Figures and reports of studies, tasks, tunings and curves; plot.py and report.py are what the
program calls."""
