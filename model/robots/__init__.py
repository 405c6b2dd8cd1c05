"""Files that other robot software reads and writes."""
