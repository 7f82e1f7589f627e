"""`python -m gptm` is the command line."""

from gptm.cli import main

if __name__ == "__main__":
    main()
