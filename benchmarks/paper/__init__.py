"""Studies of the paper: its tables and figures, and additional evaluations of the same data and methods."""
