"""What a model can be tuned for or asked, a file each: the folder is the list."""
