"""`python -m dshq_widget.cli` is `dshq`."""

from dshq_widget.cli.entry import main

raise SystemExit(main())
