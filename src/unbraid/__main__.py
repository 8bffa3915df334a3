"""``python -m unbraid``: the command, where its script is not on the path."""

import sys

from unbraid.cli import main

sys.exit(main())
