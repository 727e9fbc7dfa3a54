"""``python -m antiphon`` is the command ``antiphon``."""

import sys

from antiphon.cli import main

sys.exit(main())
