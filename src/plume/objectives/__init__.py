"""The papers' objectives by name: declarations only, one file each. Each file has a function named like itself."""
