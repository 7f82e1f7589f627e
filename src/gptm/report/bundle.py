"""The page's scripts as one: modules become functions, each after the modules that it imports.

A page that is opened from a folder cannot load modules, so they are joined when the page is written. Two forms are
understood, each at the beginning of a line, and every other import or export is refused::

    import { some, names } from "./module.js";
    export const name = ...   (or: export function, export async function)

What is exported cannot be assigned anew, since importing modules would not see it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_IMPORT = re.compile(r'^import \{([\w$,\s]+)\} from "\./(\w+\.js)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:const|function|async function) ([\w$]+)\b)", re.MULTILINE)
_OTHER = re.compile(r"^[^\S\n]*(?:import|export)\b.*|\bimport\s*[(.].*", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_$][\w$]*")


@dataclass(frozen=True)
class Module:
    """A script: what it takes from which modules, what it gives, and its text without these lines."""

    imports: Mapping[str, Sequence[str]]
    exports: Sequence[str]
    body: str


def bundle(entry: str, sources: Mapping[str, str]) -> str:
    """One script that does what the module `entry` does, with all modules that it needs.

    Parameters
    ----------
    entry : str
        The name of the module where the page begins.
    sources : mapping
        The text of each module by its name.

    Returns
    -------
    str
        A script that leaves no name behind in the page. The same modules give the same text.

    Examples
    --------
    >>> from gptm.report.bundle import bundle
    >>> tea = 'export const tea = "green";'
    >>> page = 'import { tea } from "./tea.js";\\nalert(tea);'
    >>> print(bundle("page.js", {"page.js": page, "tea.js": tea}))
    "use strict";
    (() => {
    const $tea = (() => {
    const tea = "green";
    return { tea };
    })();
    (() => {
    const { tea } = $tea;
    alert(tea);
    })();
    })();
    <BLANKLINE>
    """
    modules: dict[str, Module] = {}
    _add(entry, sources, modules, ())
    _check_names(modules)
    parts = [_wrapped(name, module) for name, module in modules.items()]
    return '"use strict";\n(() => {\n' + "".join(parts) + "})();\n"


def parse_module(name: str, source: str) -> Module:
    """A script taken apart; a form of import or export that is not supported is an error."""
    imports: dict[str, list[str]] = {}
    for names, other in _IMPORT.findall(source):
        imports.setdefault(other, []).extend(_imported(name, names))
    body = _EXPORT.sub("", _IMPORT.sub(_blank_lines, source))
    _refuse_other_forms(name, body)
    return Module(imports, _EXPORT.findall(source), body.strip("\n"))


def _imported(name: str, names: str) -> list[str]:
    imported = [text.strip() for text in names.strip().removesuffix(",").split(",")]
    for text in imported:
        if not _NAME.fullmatch(text):
            raise ValueError(
                f"{name} imports {text!r}, which is not a name. Import names as they are, without `as`."
            )
    return imported


def _blank_lines(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n")  # so that errors count lines as the file does


def _refuse_other_forms(name: str, body: str) -> None:
    other = _OTHER.search(body)
    if other is None:
        return
    line = body.count("\n", 0, other.start()) + 1
    raise ValueError(
        f"{name}, line {line}: the bundler does not support `{other[0].strip()}`. "
        'Write `import { name } from "./module.js";`, `export const`, `export function` or '
        "`export async function` at the beginning of a line."
    )


def _add(
    name: str, sources: Mapping[str, str], modules: dict[str, Module], path: tuple[str, ...]
) -> None:
    """Add a module to `modules`, after those that it imports; `path` leads from the entry to it."""
    if name in path:
        cycle = " -> ".join([*path[path.index(name) :], name])
        raise ValueError(
            f"modules import each other in a circle: {cycle}. Move what they share into a module of its own."
        )
    if name in modules:
        return
    if name not in sources:
        needed_by = f"{path[-1]} imports {name}" if path else f"the page begins with {name}"
        raise ValueError(f"{needed_by}, but there is no such module.")
    module = parse_module(name, sources[name])
    for other in module.imports:
        _add(other, sources, modules, (*path, name))
    modules[name] = module


def _check_names(modules: Mapping[str, Module]) -> None:
    for name, module in modules.items():
        for other, names in module.imports.items():
            for missing in sorted(set(names) - set(modules[other].exports)):
                raise ValueError(
                    f"{name} imports {missing} from {other}, which does not export it."
                )


def _wrapped(name: str, module: Module) -> str:
    """The module as a function that is called once and returns what the module exports."""
    imports = [
        f"const {{ {', '.join(names)} }} = {_variable(other)};\n"
        for other, names in module.imports.items()
    ]
    given = f"return {{ {', '.join(module.exports)} }};\n" if module.exports else ""
    kept = f"const {_variable(name)} = " if module.exports else ""
    return f"{kept}(() => {{\n{''.join(imports)}{module.body}\n{given}}})();\n"


def _variable(name: str) -> str:
    """What the bundle calls the exports of a module."""
    return "$" + name.removesuffix(".js")
