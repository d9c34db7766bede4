"""Controls of the page: the stable id of each, and its accessible name.

A control carries its id as `data-control`, which scripts and tests look for. Its name is what a screen reader says; it
may change, its id may not.
"""

from __future__ import annotations

from dshq_widget.contract.faces import FACES

CONTROLS = {
    # The match
    "match": "Match",
    "play": "Play",
    "pause": "Pause",
    "say-match": "Say the score",
    "speed": "Speed",
    "mode": "Mode",
    "opponent": "Opponent",
    "preview": "See what it can become",
    "preview-leave": "Back to your match",
    "challenge": "Play against it",
    "challenge-again": "Play again",
    "challenge-share": "Share",
    "challenge-leave": "Back to watching",
    # The Lab
    "lab": "Lab",
    "step": "Step",
    "step-decision": "Step decision",
    "next-goal": "Next goal",
    "match-seed": "Match seed",
    "reset-match": "Reset match",
    "random-seed": "Random seed",
    "match-repeat": "Action repeat",
    "swap": "Swap",
    "swap-interval": "Swap interval (ms)",
    "pause-learning": "Pause learning",
    "next-update": "Next update",
    "forget": "Forget everything",
    "undo": "Undo",
    "learning-pace": "Learning pace",
    # Training
    "train": "Train",
    "stop": "Stop",
    # On the pitch
    "value-map": "Value map",
    "sight": "What it sees",
    "why": "Why that move?",
    "next-move": "Next move",
    "futures": "16 futures",
    "futures-number": "Number of futures",
    "futures-depth": "Decisions ahead",
    "slow-motion": "Slow motion",
    "ghost": "Ghost",
    "ghost-back": "Ghost: versions back",
    "hint-seen": "Got it",
    # The Share menu
    "share": "Share",
    "save-policy": "Save policy",
    "load-policy": "Load policy",
    "policy-file": "Policy file",
    "save-replay": "Save replay",
    "load-replay": "Load replay",
    "replay-file": "Replay file",
    "replay-leave": "Back to the live match",
    "web-page": "Save web page",
    "save-picture": "Save picture",
    "save-gif": "Save GIF (last 10 s)",
    "save-video": "Save video (last 10 s)",
    "full-screen": "Full screen",
    # Tabs
    "tab-learn": "Learn",
    "tab-mind": "Mind",
    "tab-rewards": "Rewards",
    "tab-settings": "Settings",
    # In the tabs
    "more-curves": "More curves",
    "log-scale": "Log scale",
    "chart-table": "Table",
    "chart-axis": "Chart axis",
    "export-csv": "Export CSV",
    "export-png": "Export PNG",
    "event-log": "Event log",
    "player": "Player",
    "afterwards": "Afterwards",
    "own-reward": "A reward of your own",
    "own-measure": "What it pays for",
    "own-line": "One line of the rules language",
    "own-train": "Train with it",
    "own-remove": "Remove it",
    "copy-own-reward": "Copy the cell",
    "reset-rewards": "Reset rewards",
    "preset": "Preset",
    "copy-python": "Copy as Python",
    "python-code": "Settings as Python",
    "start-from": "Start from",
    "who-learns": "Who learns",
    "more-settings": "More settings",
    "submit": "Submit",
    # A recording that the class league publishes
    "slower": "Slower",
    "faster": "Faster",
    "time": "Time",
    # Features
    **{key: name for face in FACES for key, name in face.controls.items()},
}

PATTERNS = {
    "KEY": "the key of a hyper-parameter: its control in the tab Settings, which is named after it",
    "weight-TERM": "the weight of a reward term, as a number; `weight-TERM-slider` is its slider",
    "tab-algorithm": "the tab of the panel that the algorithm declares, with its title",
    "outcome-N": "the N-th move that was tried, counted from 1",
    "touch-KEY": "a button of the touch pad, by the code of its key",
    "more-time": "adds minutes on a shared server: +30 min",
    "resume-run": "continues the run of an earlier kernel: Resume run from 10:15",
    **{key: text for face in FACES for key, text in face.patterns.items()},
}
"""Ids of controls that are there several times, or whose name says more: what they are."""
