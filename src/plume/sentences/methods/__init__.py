"""The methods to train sentence vectors, a file each: what `plume sentences train --method` takes."""
