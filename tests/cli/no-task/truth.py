# without NumPy's own work: what comes is an array, what goes is one
def three(x):
    return x * 0 + 3


def twice(x):
    return 2 * x
