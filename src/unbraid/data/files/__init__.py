"""Formats, downloads and what is kept on disk."""
