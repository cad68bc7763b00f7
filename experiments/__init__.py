"""What the book's model does in minutes and hours, where a chapter has seconds."""
