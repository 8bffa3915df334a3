"""The biases that come with the library, by kind; a file dropped into this folder is found."""
