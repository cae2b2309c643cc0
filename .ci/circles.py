#!/usr/bin/env python3
"""Fails when files of a crate use each other in a circle.

A file uses another one when a path in it (in a `use` declaration or elsewhere) leads to an item that the other
file defines. Re-exports are followed to the definition, so a `mod.rs` that only hands on the names of its
children uses none of them. Calls of methods are no paths and do not count; nor does what only tests or the
documentation use.
"""

import os
import re
import sys

TOKEN = re.compile(r"//[^\n]*|/\*|\bb?r(#*)\"|b?\"|'(?:\\.[^']*|[^\\'])'")
MODULE = re.compile(r"((?:#\[[^\]]*\]\s*)*)(?:pub(?:\([^)]*\))?\s+)?\bmod\s+(\w+)\s*([;{])")
USE = re.compile(r"(pub(?:\s*\([^)]*\))?\s+)?\buse\s+([^;]+);")
NO_CODE = re.compile(r"#\[cfg\((?:doc|test)\)\]\s*(?:pub(?:\([^)]*\))?\s+)?use\s+[^;]+;")
ITEM = re.compile(r"\b(?:struct|enum|trait|type|const|static|fn|union|macro_rules!)\s+(?:mut\s+)?(\w+)")
PATH = re.compile(r"\b(\w+(?:\s*::\s*\w+)+)")


def without_comments_and_strings(text):
    parts, at = [], 0
    while match := TOKEN.search(text, at):
        parts.append(text[at : match.start()])
        token, at = match.group(0), match.end()
        if token == "/*":
            depth = 1
            while depth:
                depth += {"/*": 1, "*/": -1}.get(text[at : at + 2], 0)
                at += 2 if text[at : at + 2] in ("/*", "*/") else 1
        elif match.group(1) is not None:
            end = '"' + match.group(1)
            at = text.index(end, at) + len(end)
        elif token in ('"', 'b"'):
            while text[at] != '"':
                at += 2 if text[at] == "\\" else 1
            at += 1
    return "".join(parts) + text[at:]


def end_of_block(text, at):
    """The place behind the brace that closes the one before `at`."""
    depth = 1
    while depth:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return at


def outside_of_braces(text):
    depth, kept = 0, []
    for char in text:
        depth += char == "{"
        if depth == 0:
            kept.append(char)
        depth -= char == "}"
    return "".join(kept)


def branches(tree):
    depth, start = 0, 0
    for at, char in enumerate(tree):
        depth += {"{": 1, "}": -1}.get(char, 0)
        if char == "," and depth == 0:
            yield tree[start:at]
            start = at + 1
    yield tree[start:]


def leaves(tree, before=()):
    """The complete paths of a tree of `use`, each with the name that it gets."""
    match = re.match(r"\s*(?:::)?((?:\w+\s*::\s*)*)(.*)", tree, re.S)
    path = before + tuple(re.findall(r"\w+", match.group(1)))
    rest = match.group(2).strip()
    if rest.startswith("{"):
        for branch in branches(rest[1 : rest.rindex("}")]):
            yield from leaves(branch, path)
    elif match := re.fullmatch(r"(\w+|\*)(?:\s+as\s+(\w+))?", rest):
        name, alias = match.groups()
        path = path if name == "self" else path + (name,)
        yield path, alias or path[-1]


class Module:
    def __init__(self, file, parent, text=None, folder=None):
        self.file, self.parent, self.children = file, parent, {}
        if text is None:
            with open(file, encoding="utf-8") as source:
                text = without_comments_and_strings(source.read())
        if folder is None:
            is_root = os.path.basename(file) in ("lib.rs", "main.rs", "mod.rs")
            folder = os.path.dirname(file) if is_root else file[: -len(".rs")]
        body = NO_CODE.sub("", self.take_modules(text, folder))
        self.imports = [
            (bool(use.group(1)), path, name) for use in USE.finditer(body) for path, name in leaves(use.group(2))
        ]
        code = USE.sub("", body)
        self.items = set(ITEM.findall(outside_of_braces(code)))
        self.paths = [tuple(re.findall(r"\w+", path)) for path in PATH.findall(code)]
        self.words = set(re.findall(r"\w+", code))

    def take_modules(self, text, folder):
        """Reads the modules in a text. Returns the rest of it."""
        rest, at = [], 0
        while match := MODULE.search(text, at):
            rest.append(text[at : match.start()])
            attributes, name, mark = match.groups()
            at = match.end() if mark == ";" else end_of_block(text, match.end())
            if re.search(r"cfg\(test\)", attributes):
                continue
            if mark == "{":
                inner = text[match.end() : at - 1]
                self.children[name] = Module(self.file, self, inner, os.path.join(folder, name))
                continue
            places = (os.path.join(folder, name + ".rs"), os.path.join(folder, name, "mod.rs"))
            for file in filter(os.path.exists, places):
                self.children[name] = Module(file, self)
        return "".join(rest) + text[at:]

    def root(self):
        return self.parent.root() if self.parent else self

    def all(self):
        yield self
        for child in self.children.values():
            yield from child.all()

    def definer(self, path, depth=0):
        """The file that defines what a path leads to; `None` for another crate's, and for a module as such."""
        if not path or depth > 20:
            return None
        module, at = self, 1
        if path[0] == "crate":
            module = self.root()
        elif path[0] == "super":
            module = self.parent or self
            while at < len(path) and path[at] == "super":
                module, at = module.parent or module, at + 1
        elif path[0] in self.children:
            at = 0
        elif path[0] != "self":
            for _, full, name in self.imports:
                if name == path[0] and full[0] != name:
                    return self.definer(full + path[1:], depth + 1)
            return None
        for at in range(at, len(path)):
            name = path[at]
            if name in module.children and not (name in module.items and at == len(path) - 1):
                module = module.children[name]
                continue
            if name in module.items:
                return module.file
            for _, full, imported in module.imports:
                if imported == name:
                    return module.definer(full + path[at + 1 :], depth + 1)
            for is_public, full, imported in module.imports:
                if is_public and imported == "*":
                    if file := module.definer(full[:-1] + path[at:], depth + 1):
                        return file
            return module.file
        return None

    def used(self):
        for is_public, path, name in self.imports:
            if not is_public or name in self.words or name == "*":
                yield self.definer(path)
        for path in self.paths:
            yield self.definer(path)


def circles(graph):
    """The strongly connected components of more than one file (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(file):
        index[file] = low[file] = len(index)
        stack.append(file)
        for used in sorted(graph.get(file, ())):
            if used not in index:
                visit(used)
                low[file] = min(low[file], low[used])
            elif used in stack:
                low[file] = min(low[file], index[used])
        if low[file] == index[file]:
            place = stack.index(file)
            if len(stack) - place > 1:
                found.append(sorted(stack[place:]))
            del stack[place:]

    for file in sorted(graph):
        if file not in index:
            visit(file)
    return found


def main():
    sys.setrecursionlimit(10_000)
    count, files = 0, 0
    for crate in sorted(os.listdir("crates")):
        for entry in ("lib.rs", "main.rs"):
            file = os.path.join("crates", crate, "src", entry)
            if not os.path.exists(file):
                continue
            graph = {}
            for module in Module(file, None).all():
                used = graph.setdefault(module.file, set())
                used.update(other for other in module.used() if other not in (None, module.file))
            files += len(graph)
            for circle in circles(graph):
                count += 1
                print(f"{crate}: {len(circle)} files use each other in a circle:")
                for one in circle:
                    others = sorted(graph[one].intersection(circle))
                    print(f"  {one} uses {', '.join(others)}")
    print(f"{files} files, {count} {'circle' if count == 1 else 'circles'}")
    return count > 0 or files == 0


if __name__ == "__main__":
    sys.exit(main())
