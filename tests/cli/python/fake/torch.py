import sys

if sys.argv[0].endswith("reference.py"):
    open("imported", "a").close()
present = True


class Tensor:
    pass


def twice(x):
    return 2 * x
