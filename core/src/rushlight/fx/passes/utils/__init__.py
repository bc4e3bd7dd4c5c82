"""What passes are made of: finding patterns in graphs."""
