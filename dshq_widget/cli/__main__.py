"""`python -m dshq_widget.cli` is `dshq`."""

from dshq_widget.cli.main import main

raise SystemExit(main())
