"""``python -m bench.house``."""

import sys

from bench.house import main

sys.exit(main())
