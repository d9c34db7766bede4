"""Constants of the intervals that tables, charts and exports show."""

Z95 = 1.959963984540054
"""Standard deviations on either side of the mean that hold 95 % of a normal distribution."""
