"""Results as pages for people and files for machines."""
