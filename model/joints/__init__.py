"""What joints are made of: elementary moves, constraint rows, and the types that combine them."""
