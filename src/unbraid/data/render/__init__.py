"""Drawing images from factors."""
