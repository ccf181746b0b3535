"""Runs the functions of a Python file that are the references of ops (docs/OP.md): reference.py FILE. The file is imported once. Each line of
the standard input, a socket, is a folder: FOLDER/request has FUNCTION OUTPUT=(SHAPE) ... -- FIELD=VALUE ..., a word a line, and
FOLDER/NAME.npy are the inputs. The results are written beside them, in double; then one byte is the answer.

FOLDER/reads then lists what the results depend on: a line `SHA256 FILE` for each file that the file or its functions imported or opened so
far (`- FILE`: it did not exist), or a line `untracked` if that is not known. Without it, FOLDER/log says what failed."""
import hashlib
import importlib.util
import inspect
import keyword
import os
import re
import socket
import sys
import threading
import time
import traceback

import numpy


class Wrong(Exception):
    """A mistake of the author, told without a traceback."""


def number(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


reads, served, untracked = {}, [], False  # reads: the content of each file when it was first read, which may change while this process lives
UNTRACKED = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "socket.connect", "ctypes.dlopen", "os.scandir", "glob.glob",
             "pathlib.Path.glob", "pathlib.Path.rglob")
WRITES = re.compile("[wx]|a[^+]*$")


def see(event, words):
    global untracked
    if event == "open" and isinstance(words[0], (str, bytes)) and not (isinstance(words[1], str) and WRITES.match(words[1])):
        name = os.fsdecode(words[0])
        if not untracked and name not in reads and not installed(name) and not name.startswith(("/proc/", *served)):
            reads[name] = None  # content() opens it
            reads[name] = content(name)
    elif event in UNTRACKED:
        untracked = True


def installed(file):
    """Of the standard library or NumPy, which change with the version of NumPy or Python alone."""
    library = os.path.dirname(os.__file__) + os.sep
    return any(file.startswith(folder) for folder in (os.path.dirname(numpy.__file__) + os.sep, library)) and \
        ("site-packages" not in file[len(library):] or file.startswith(os.path.dirname(numpy.__file__) + os.sep))


def content(file):
    try:
        with open(file, "rb") as opened:
            return hashlib.sha256(opened.read()).hexdigest()
    except OSError:
        return "-"


def tell_reads(folder):
    global untracked
    files = dict(reads)
    for loaded in list(sys.modules.values()):
        file = getattr(loaded, "__file__", None)
        if file and file != __file__ and not installed(file):
            files.setdefault(file, None)
            untracked |= not file.endswith(".py")  # machine code may open files unseen
    files[os.path.join(os.path.dirname(numpy.__file__), "version.py")] = None
    untracked |= any("\n" in file for file in files)
    lines = ["untracked"] if untracked else [(seen or content(file)) + " " + file for file, seen in sorted(files.items())]
    with open(os.path.join(folder, "reads"), "w") as opened:
        opened.write("".join(line + "\n" for line in lines))


def load(path):
    # compiled files may be older than their source, of which only the second is known
    sys.dont_write_bytecode, sys.pycache_prefix = True, os.path.join(os.sep, "nowhere", "compiled")
    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location("op_reference", path)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except SystemExit as ended:
        raise Wrong(f"it calls sys.exit({ended.code!r}) where it is imported")
    return module


def words_of(function, given, outputs):
    """The arguments that it takes by name."""
    takes = inspect.signature(function).parameters.values()
    if any(p.kind == p.VAR_KEYWORD for p in takes):
        return given
    given = {key + "_" if keyword.iskeyword(key) else key: value for key, value in given.items()}
    unknown = [p.name for p in takes if p.name not in given and p.default is p.empty]
    if unknown:
        in_place = "; it writes that one, which holds nothing before: what is read and written is two tensors" if unknown[0] in outputs else ""
        raise Wrong(f"it takes '{unknown[0]}'; the op has {', '.join(sorted(given))}{in_place}")
    return {p.name: given[p.name] for p in takes if p.name in given}


def write(result, outputs, folder):
    if isinstance(result, tuple):
        if len(result) != len(outputs):
            raise Wrong(f"it returns {len(result)} values; the op writes {', '.join(outputs)}")
        result = dict(zip(outputs, result))
    elif not isinstance(result, dict):
        result = {next(iter(outputs)): result}
    for key, value in result.items():
        owner, _, behind = (key, "", "") if key in outputs else key.rpartition("_")
        if owner not in outputs or behind not in ("", "magnitude", "bound"):
            raise Wrong(f"it returns '{key}'; the op writes {', '.join(outputs)}")
        if behind == "bound" and owner + "_magnitude" in result:
            raise Wrong(f"it returns {owner}_magnitude and {key}; a result has one of them")
        if numpy.iscomplexobj(value):
            raise Wrong(f"it returns {key} in complex numbers; reals are compared")
        value = numpy.asarray(value, dtype=numpy.float64)
        if value.shape != outputs[owner]:
            raise Wrong(f"it returns {key} of shape {value.shape}; the op's is {outputs[owner]}")
        numpy.save(os.path.join(folder, key + ".npy"), numpy.ascontiguousarray(value))
    missing = [key for key in outputs if key not in result]
    if missing:
        raise Wrong(f"it returns no '{missing[0]}'")


def answer(module, folder):
    with open(os.path.join(folder, "request")) as opened:
        name, *words = opened.read().split("\n")
    split = words.index("--")
    outputs = {word.split("=")[0]: tuple(int(size) for size in word.split("=")[1].strip("()").split(",") if size) for word in words[:split]}
    given = {word.split("=", 1)[0]: number(word.split("=", 1)[1]) for word in words[split + 1:]}
    for entry in sorted(os.listdir(folder)):
        if entry.endswith(".npy"):
            given[entry[:-4]] = numpy.load(os.path.join(folder, entry)).astype(numpy.float64)
    function = getattr(module, name, None)
    if function is None:
        raise Wrong(f"there is no function '{name}'")
    wanted = words_of(function, given, outputs)
    try:
        result = function(**wanted)
    except SystemExit as ended:
        raise Wrong(f"it calls sys.exit({ended.code!r}) and returns nothing")
    write(result, outputs, folder)
    tell_reads(folder)


def say_first(log, reason):
    """The reason stands before what the function printed, such as NumPy's warnings."""
    for out in (sys.stdout, sys.stderr):
        out.flush()
    with open(log, "r+", errors="surrogateescape") as file:
        printed = file.read()
        file.seek(0)
        file.write(reason + "\n" + printed)


def end_with(parent):
    """Ends this process when bench has ended, also in the middle of a function."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def main(path):
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    channel = socket.socket(fileno=os.dup(0))
    asked = channel.makefile("r", encoding="utf-8", errors="surrogateescape")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.addaudithook(see)
    module = None
    for line in asked:
        folder = line.rstrip("\n")
        served[:] = [os.path.join(folder, "")]
        log = os.open(os.path.join(folder, "log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        for out in (1, 2):
            os.dup2(log, out)
        os.close(log)
        try:
            module = module or load(path)
            answer(module, folder)
        except Wrong as wrong:
            say_first(os.path.join(folder, "log"), str(wrong))
        except BaseException as error:
            traceback.print_exc()
            if isinstance(error, IndexError) and "integer" in str(error):
                print("every tensor of a reference is float64: x[indices.astype(int)]", file=sys.stderr)
        for out in (sys.stdout, sys.stderr):
            out.flush()
        channel.sendall(b".")


main(sys.argv[1])
