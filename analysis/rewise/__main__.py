"""python -m rewise: the program."""

import sys

from .command import main

sys.exit(main())
