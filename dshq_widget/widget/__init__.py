"""The widget in the cell: its traits, what is sent and received, what each message does. No training here."""
