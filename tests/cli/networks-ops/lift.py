import numpy


def lift(input, slope):
    return input + slope[None, :, None, None] * input * numpy.abs(input)
