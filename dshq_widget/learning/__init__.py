"""What every training run needs beside its algorithm: evaluation, league, guards, pace, reports. No losses here."""
