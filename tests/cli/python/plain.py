BENCH = {"halve": {"op": "scale", "fields": {"n": 640, "a": 0.5}, "tensors": "x: [n]; y: [n] written", "terms": 1, "reference": "truth",
                   "grid": "ceil(n, 64)", "args": "x y n a", "tool": "ptx"}}


def truth(x, a):
    return a * x


def halve():
    import k  # beside this file
    return k.text("halve", 64, "mul.f32 %f3, %f1, %f2;")
