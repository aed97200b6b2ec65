"""python -m plume, and so torchrun -m plume."""

from plume.cli import main

if __name__ == "__main__":
    main()
