"""What a run says of itself: metrics summed, written to files, sent to trackers."""
