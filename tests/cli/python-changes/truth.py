import os
import subprocess
import time
import numpy as np


def imports(x):
    import factor
    return factor.FACTOR * x


def opens(x):
    open(f"ran.{time.time_ns()}", "w").close()
    return float(open("factor.txt").read()) * x


def loads(x):
    return np.load("factor.npy")[0] * x


once = []


def remembers(x):
    if not once:
        once.append(float(open("factor.txt").read()))
    return once[0] * x


def asks(x):
    return float(subprocess.check_output(["cat", "factor.txt"])) * x


def lacks(x):
    try:
        return float(open("other.txt").read()) * x
    except OSError:
        return 2 * x


def leaves(x):
    os._exit(0)


def exits(x):
    raise SystemExit(0)
