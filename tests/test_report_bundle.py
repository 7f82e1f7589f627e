"""The bundler of the page's scripts: the joined script does what the modules do, and what it cannot join it refuses."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gptm.report.bundle import bundle, parse_module
from gptm.report.page import _ENTRY, _scripts

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(
    NODE is None, reason="needs node, which runs modules as browsers do"
)


def run(script: Path) -> str:
    return subprocess.run([NODE, script], capture_output=True, text=True, check=True).stdout


def run_both(sources, folder):
    """What the entry prints, by node's own modules and as one script."""
    modules, joined = folder / "modules", folder / "joined"
    for place in (modules, joined):
        place.mkdir(parents=True, exist_ok=True)
    (modules / "package.json").write_text(json.dumps({"type": "module"}))
    for name, source in sources.items():
        (modules / name).write_text(source)
    (joined / "all.js").write_text(bundle("page.js", sources))
    return run(modules / "page.js"), run(joined / "all.js")


@needs_node
def test_the_bundle_does_what_the_modules_do(tmp_path):
    sources = {
        "page.js": (
            'import { count, twice } from "./count.js";\n'
            'import {\n  later,\n  $name,\n} from "./other.js";\n'
            "const hidden = 1;\ncount.value += hidden;\n"
            "later().then((value) => console.log(value, twice(3), $name, typeof globalThis.hidden));\n"
        ),
        "count.js": (
            "const hidden = 40;\nexport const count = { value: hidden };\n"
            "export function twice(x) {\n  return 2 * x;\n}\nconsole.log('count');\n"
        ),
        "other.js": (
            'import { count } from "./count.js";\n'
            "export async function later() {\n  return count.value + 1;\n}\n"
            'export const $name = "exported";\nconsole.log("other");\n'
        ),
    }
    by_node, as_one = run_both(sources, tmp_path)
    assert by_node == as_one == "count\nother\n42 6 exported undefined\n"


@st.composite
def graphs(draw):
    """For each module some of the later ones, which it imports."""
    size = draw(st.integers(1, 6))
    return [
        draw(st.permutations(range(i + 1, size)).map(lambda order: order[: len(order) // 2 + 1]))
        for i in range(size)
    ]


def sources_of(imports):
    """Modules that print themselves and what they import."""
    names = ["page", *(f"module{i}" for i in range(1, len(imports)))]
    return {
        f"{name}.js": "".join(f'import {{ v{j} }} from "./{names[j]}.js";\n' for j in others)
        + f"export const v{i} = [{i}, {', '.join(f'v{j}' for j in others)}];\n"
        + f"console.log(JSON.stringify(v{i}));\n"
        for i, (name, others) in enumerate(zip(names, imports, strict=True))
    }


@needs_node
@settings(max_examples=10, deadline=None)
@given(graphs())
def test_modules_run_in_the_order_that_node_gives_them(tmp_path_factory, imports):
    by_node, as_one = run_both(sources_of(imports), tmp_path_factory.mktemp("graph"))
    assert by_node == as_one


@given(graphs())
def test_every_module_comes_once_and_after_what_it_imports(imports):
    sources = sources_of(imports)
    order = re.findall(r"^const \$(\w+) = ", bundle("page.js", sources), re.MULTILINE)
    assert len(order) == len(set(order))
    assert order[-1] == "page"
    for name in order:
        for other in parse_module(f"{name}.js", sources[f"{name}.js"]).imports:
            assert order.index(other.removesuffix(".js")) < order.index(name)
    assert bundle("page.js", dict(reversed(sources.items()))) == bundle("page.js", sources)


# What is refused


@pytest.mark.parametrize(
    "line",
    [
        'import "./other.js";',
        'import name from "./other.js";',
        'import * as other from "./other.js";',
        'import { name } from "other";',
        'import { name } from "../other.js";',
        'import { name } from "./other.mjs";',
        'import { name } from "./other.js"',
        "import { name } from './other.js';",
        '  import { name } from "./other.js";',
        'const { name } = await import("./other.js");',
        "const address = import.meta.url;",
        "export default function () {}",
        "export { name };",
        'export * from "./other.js";',
        'export { name } from "./other.js";',
        "export let name = 1;",
        "export var name = 1;",
        "export class Name {}",
        "export function* name() {}",
        "export const { name } = values;",
        "export const [name] = values;",
    ],
)
def test_other_forms_are_refused_with_their_line(line):
    source = f'import {{ a }} from "./a.js";\n\nconst first = 1;\n{line}\n'
    with pytest.raises(
        ValueError, match=r"page\.js, line 4: the bundler does not support `"
    ) as error:
        bundle("page.js", {"page.js": source, "a.js": "export const a = 1;\n"})
    assert line.strip().split("await ")[-1][:20] in str(error.value) or "import.meta" in line
    assert "export async function" in str(error.value)


@pytest.mark.parametrize("names", ["a as b", "", "a, , b", "default as a", "a b"])
def test_only_plain_names_are_imported(names):
    with pytest.raises(ValueError, match=r"page\.js imports '.*', which is not a name"):
        bundle("page.js", {"page.js": f'import {{ {names} }} from "./a.js";\n', "a.js": ""})


def test_a_circle_is_named():
    sources = {
        "page.js": 'import { a } from "./a.js";\n',
        "a.js": 'import { b } from "./b.js";\nexport const a = 1;\n',
        "b.js": 'import { a } from "./a.js";\nexport const b = 1;\n',
    }
    with pytest.raises(ValueError, match=r"in a circle: a\.js -> b\.js -> a\.js\. Move what they"):
        bundle("page.js", sources)
    with pytest.raises(ValueError, match=r"a\.js -> a\.js"):
        bundle("a.js", {"a.js": 'import { a } from "./a.js";\nexport const a = 1;\n'})


def test_missing_modules_and_names_are_named():
    source = 'import { a, b } from "./a.js";\n'
    with pytest.raises(ValueError, match=r"page\.js imports a\.js, but there is no such module"):
        bundle("page.js", {"page.js": source})
    with pytest.raises(ValueError, match=r"page\.js imports b from a\.js, which does not export"):
        bundle("page.js", {"page.js": source, "a.js": "export const a = 1;\nconst b = 2;\n"})
    with pytest.raises(ValueError, match=r"the page begins with page\.js, but"):
        bundle("page.js", {})


def test_words_like_import_and_export_elsewhere_are_text():
    source = (
        '// They import and export tea.\nconst exported = "export";\nconst important = "import";\n'
    )
    assert source in bundle("page.js", {"page.js": source})


# The page's own scripts


def test_every_script_of_the_page_is_used():
    sources, joined = _scripts(), bundle(_ENTRY, _scripts())
    assert all(parse_module(name, source).body in joined for name, source in sources.items())
    assert len(sources) > 20
    exported = {
        (name, e) for name, text in sources.items() for e in parse_module(name, text).exports
    }
    imported = {
        (other, name)
        for text in sources.values()
        for other, names in parse_module("", text).imports.items()
        for name in names
    }
    assert exported == imported


def test_scripts_tell_one_idea_each():
    for name, source in _scripts().items():
        assert source.startswith("// "), name
        assert len(source.splitlines()) <= 250, name


@needs_node
def test_the_bundle_of_the_page_is_a_script(tmp_path):
    path = tmp_path / "page.js"
    path.write_text(bundle(_ENTRY, _scripts()), encoding="utf-8")
    subprocess.run([NODE, "--check", path], check=True)
