"""Deprecated alias of rewise.series. The next version removes it."""

import sys
import warnings

import rewise.series

warnings.warn("rewise_series is now rewise.series", DeprecationWarning, stacklevel=2)
sys.modules[__name__] = rewise.series
