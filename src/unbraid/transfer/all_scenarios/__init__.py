"""The scenarios that come with the library; a file dropped into this folder is found."""
