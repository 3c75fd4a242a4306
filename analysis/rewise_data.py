"""Old name of rewise.files, for one version."""

import sys
import warnings

import rewise.files

warnings.warn("rewise_data is now rewise.files", DeprecationWarning, stacklevel=2)
sys.modules[__name__] = rewise.files
