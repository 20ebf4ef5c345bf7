"""trundle."""
