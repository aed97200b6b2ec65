"""python -m plume, and so torchrun -m plume."""

from plume.cli import main

main()
