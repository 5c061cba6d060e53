#!/usr/bin/env python3
"""Lists the public functions of a module that its tests do not name."""
import ast
import pathlib
import sys


def names(tree):
    return {n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)) and not n.name.startswith("_")}


def used(tree):
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
    return found


def main():
    module, tests = (pathlib.Path(p) for p in sys.argv[1:3])
    named = used(ast.parse(tests.read_text())) if tests.exists() else set()
    for name in sorted(names(ast.parse(module.read_text())) - named):
        print(name)


if __name__ == "__main__":
    main()
