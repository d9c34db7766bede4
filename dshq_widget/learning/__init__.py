"""What every training run shares: evaluation, opponents, guards, pace, reports. No losses here."""
