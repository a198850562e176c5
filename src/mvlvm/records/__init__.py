"""What programs measured: kept line by line, with the machine in words, printed as tables."""
