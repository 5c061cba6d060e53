# SPDX-License-Identifier: Apache-2.0

# What Python runs in place of a program whose file is its argument: it runs the program as the main module, and tells the
# value of the last expression on the extra file. It imports nothing that the workspace could have a module for.


def _motor(main):
    import _ast
    import builtins
    import posix
    import sys

    most = 40000  # characters of what is told at once
    mark = "__motor_value__"
    file = sys.argv[1]
    try:
        out = posix.dup(3)  # Programs of the program do not inherit it.
        posix.close(3)
    except OSError:
        out = -1

    def quote(text):
        known = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}
        plain = (c if c >= " " and not "\ud800" <= c <= "\udfff" else "\\u%04x" % ord(c) for c in text)
        return '"' + "".join(known[c] if c in known else escaped for c, escaped in zip(text, plain)) + '"'

    def tell(kind, text, line=0):
        message = '\n{"kind":"%s","text":%s,"cut":%s,"line":%d}\n' % (kind, quote(text[:most]), "true" if len(text) > most else "false", line)
        rest = message.encode()  # On a line of its own, whatever the program wrote there.
        try:
            while rest:
                rest = rest[posix.write(out, rest):]
        except OSError:
            pass  # The program has closed it, and has no value then.

    class NoJSON(Exception):
        pass

    class Enough(Exception):
        pass

    def encode(value, put, depth=0):
        kind = type(value)
        if depth > 50:
            raise NoJSON
        if value is None or kind is bool:
            put({None: "null", True: "true", False: "false"}[value])
        elif kind is int or kind is float and value - value == 0:
            put(repr(value))
        elif kind is str:
            put(quote(value[:most]))
        elif kind is list or kind is tuple:
            put("[")
            for n, item in enumerate(value):
                put(", " if n else "")
                encode(item, put, depth + 1)
            put("]")
        elif kind is dict:
            put("{")
            for n, (key, item) in enumerate(value.items()):
                if type(key) is not str:
                    raise NoJSON
                put((", " if n else "") + quote(key[:most]) + ": ")
                encode(item, put, depth + 1)
            put("}")
        else:
            raise NoJSON

    def show(value):
        delattr(builtins, mark)
        if value is None:
            return
        parts = []
        size = 0

        def put(part):
            nonlocal size
            parts.append(part)
            size += len(part)
            if size > most:
                raise Enough

        try:
            encode(value, put)
        except Enough:
            pass
        except Exception:
            try:
                tell("text", repr(value))
            except Exception as e:
                tell("text", "[the value cannot be shown: %s]" % type(e).__name__)
            return
        tell("json", "".join(parts))

    def returns(nodes):
        """Says whether one of the statements returns, outside of the functions in them."""
        for node in nodes:
            if isinstance(node, _ast.Return):
                return True
            if isinstance(node, (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.ClassDef)):
                continue
            blocks = [getattr(node, name, None) for name in ("body", "orelse", "finalbody", "handlers", "cases")]
            if any(returns(block) for block in blocks if isinstance(block, list)):
                return True
        return False

    def called(tree):
        """A program that returns at its top level is the body of a function, whose value is the program's."""
        body = tree.body
        first = [n for n in body if isinstance(n, _ast.ImportFrom) and n.module == "__future__"]
        made = compile("def %s_main():\n pass\n%s(%s_main())" % (mark, mark, mark), file, "exec", 0x400, True)
        made.body[0].body = [n for n in body if n not in first]
        tree.body = first + made.body
        setattr(builtins, mark, show)
        return tree

    def marked(tree):
        if returns(tree.body):
            return called(tree)
        last = tree.body[-1] if tree.body else None
        if isinstance(last, _ast.Expr):
            value = last.value
            where = {n: getattr(value, n) for n in ("lineno", "col_offset", "end_lineno", "end_col_offset")}
            name = _ast.Name(id=mark, ctx=_ast.Load(), **where)
            last.value = _ast.Call(func=name, args=[value], keywords=[], **where)
            setattr(builtins, mark, show)
        return tree

    def line_of(error, trace):
        line = error.lineno or 0 if isinstance(error, SyntaxError) and error.filename == file else 0
        while trace:
            if trace.tb_frame.f_code.co_filename == file:
                line = trace.tb_lineno
            trace = trace.tb_next
        return line

    def run():
        with open(file, "rb") as f:
            source = f.read()
        tree = compile(source, file, "exec", 0x400, True)  # PyCF_ONLY_AST, and nothing of this file's own flags
        exec(compile(marked(tree), file, "exec", 0, True), main)

    sys.argv[:] = [file]
    if sys.path and sys.path[0] == "":
        del sys.path[0]
    main["__file__"] = file
    del main["_motor"]
    try:
        run()
    except SystemExit:
        raise
    except BaseException as e:
        trace = e.__traceback__
        while trace and trace.tb_frame.f_code.co_filename == "<string>":
            trace = trace.tb_next
        e.__traceback__ = trace
        try:
            text = str(e.msg if isinstance(e, SyntaxError) else e)
        except Exception:
            text = ""
        tell("error", type(e).__name__ + (": " + text if text else ""), line_of(e, trace))
        sys.excepthook(type(e), e, trace)
        sys.exit(1)


_motor(globals())
