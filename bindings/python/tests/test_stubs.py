"""The stubs of the extension module say what it has: the same classes, members, arguments and defaults."""

import ast
import inspect
import pathlib
import unittest

from lockgate import _lockgate

STUBS = pathlib.Path(_lockgate.__file__).parent / "_lockgate.pyi"


def stubbed() -> dict[str, dict[str, str]]:
    """The members of each class: `property`, or the arguments of a method."""
    classes = {}
    for node in ast.parse(STUBS.read_text()).body:
        if isinstance(node, ast.ClassDef):
            members = [it for it in node.body if isinstance(it, ast.FunctionDef)]
            classes[node.name] = {it.name: form_of_stub(it) for it in members}
    return classes


def form_of_stub(function: ast.FunctionDef) -> str:
    if any(isinstance(it, ast.Name) and it.id == "property" for it in function.decorator_list):
        return "property"
    given = function.args
    plain, named = given.args[1:], given.kwonlyargs
    defaults = [None] * (len(plain) - len(given.defaults)) + list(given.defaults)
    words = [it.arg + ("=" if default is not None else "") for it, default in zip(plain, defaults)]
    if named:
        words.append("*")
        words += [it.arg + ("=" if default is not None else "") for it, default in zip(named, given.kw_defaults)]
    return ", ".join([*words, *([f"**{given.kwarg.arg}"] if given.kwarg else [])])


def form_of_member(owner: type, name: str) -> str:
    if name == "__new__":
        parameters = list(inspect.signature(owner).parameters.values())
    else:
        member = inspect.getattr_static(owner, name)
        if inspect.isdatadescriptor(member):
            return "property"
        parameters = list(inspect.signature(member).parameters.values())[1:]
    words, is_named = [], False
    for it in parameters:
        if it.kind is it.VAR_KEYWORD:
            words.append(f"**{it.name}")
            continue
        if it.kind is it.KEYWORD_ONLY and not is_named:
            words.append("*")
            is_named = True
        words.append(it.name + ("" if it.default is it.empty else "="))
    return ", ".join(words)


class Stubs(unittest.TestCase):
    def test_the_stubs_are_fresh(self) -> None:
        classes = {name: it for name, it in vars(_lockgate).items() if isinstance(it, type)}
        stubs = stubbed()
        self.assertEqual(sorted(stubs), sorted(classes))
        for name, owner in classes.items():
            members = [it for it in vars(owner) if not it.startswith("__") or (it == "__new__" and "__new__" in stubs[name])]
            real = {it: form_of_member(owner, it) for it in members}
            self.assertEqual(stubs[name], real, f"{name} in _lockgate.pyi is not what the module has")
