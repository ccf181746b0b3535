import numpy


def truth(logits, heat):
    z = heat * logits - (heat * logits).max(axis=1, keepdims=True)
    y = numpy.exp(z) / numpy.exp(z).sum(axis=1, keepdims=True)
    return {"shares": y, "shares_magnitude": y * (8 - 4 * z)}


def forgets(logits, heat):
    return numpy.exp(heat * logits)[:, 1:]


def asks(logits, hat):
    return logits


def leaves(logits):
    raise SystemExit(0)


def turns(logits):
    return logits * 1j


def warns(logits):
    numpy.array([0.0]) / 0
    return logits[:, 1:]


def pairs(logits):
    return logits, logits
