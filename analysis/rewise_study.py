"""Old name of rewise.study, for one version."""

import sys
import warnings

import rewise.study

warnings.warn("rewise_study is now rewise.study", DeprecationWarning, stacklevel=2)
sys.modules[__name__] = rewise.study
