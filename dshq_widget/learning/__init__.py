"""What every training run shares: evaluation, league, guards, pace, reports. No losses here."""
