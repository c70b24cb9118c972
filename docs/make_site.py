#!/usr/bin/env python3
"""Makes a site, with a search, of README.md, the pages of docs/, and the headers and examples that they link to.

  make_site.py DIR            with MkDocs and its theme Material; ./dev docs calls it where these are installed
"""
import argparse
import json
import pathlib
import posixpath
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The pages in the order in which one reads them.
NAVIGATION = [
    ("Weft", "index.md"),
    ("Learn", [("An hour with Weft", "tutorial.md"), ("Tensors", "tensors.md"), ("Derivatives", "derivatives.md"),
               ("WebNN", "webnn.md"), ("ONNX", "onnx.md"), ("Python", "python.md"), ("From NumPy, PyTorch, JAX", "from-numpy-pytorch-jax.md"),
               ("In a page", "web.md"), ("MLX", "mlx.md")]),
    ("Reference", [("Operations", "ops.md"), ("Kernels", "kernels.md"), ("Settings", "settings.md"),
                   ("WebNN's operations", "webnn-operations.md"), ("Accuracy", "accuracy.md")]),
    ("Performance", [("Measurements", "performance.md"), ("Notes", "performance-notes.md")]),
    ("For contributors", [("Architecture", "architecture.md"), ("Conformance", "conformance.md"),
                          ("Contributing", "CONTRIBUTING.md"), ("Changes", "CHANGELOG.md")]),
]
# Pages beside README.md.
ROOT_PAGES = ["CONTRIBUTING.md", "CHANGELOG.md"]
# A block of code, a link (its text, where it leads), or a piece of code in a line.
PARTS = re.compile(r"```.*?```|(!?\[[^\]]*\])\(([^)\s]+)\)|`[^`\n]*`", re.DOTALL)
# Browsers start no workers for pages of files. There the search runs in a hidden frame instead; the theme would fetch a
# script that does this from elsewhere.
FRAME_WORKER = """
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.scope = frame.contentWindow;
      this.scope.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = this.scope.document.createElement("script");
      this.ready = new Promise((loaded) => (script.onload = loaded));
      script.src = url;
      this.scope.document.body.append(script);
    }
    postMessage(data) {
      this.ready.then(() => this.scope.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}
"""
THEIR_FRAME_WORKER = "https://unpkg.com/iframe-worker/shim"
# Lines of code have up to 120 columns, and tables of formulas are wide.
CSS = ".md-grid { max-width: 90rem; }\n"
LANGUAGES = {".patch": "diff", ".h": "cpp", ".cc": "cpp", ".py": "python", ".sh": "sh", ".wgsl": "rust", ".cmake": "cmake",
             ".html": "html", ".css": "css", ".js": "javascript", ".mjs": "javascript", ".txt": "text"}


def listed(entries):
    """The paths in a part of the navigation."""
    for _, entry in entries:
        yield from [entry] if isinstance(entry, str) else listed(entry)


def text_of_notebook(path):
    """Its cells one after the other."""
    parts = []
    for cell in json.loads(path.read_text())["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
    return "\n\n".join(parts) + "\n"


class Site:
    """The sources of the site, in a directory of their own: pages, and a page for each file that they link to."""

    def __init__(self, directory):
        self.directory = directory
        self.sources = {}  # files and directories of the repository that have a page, by their paths there

    def write(self, path, text):
        target = self.directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def page_of(self, path):
        """The page of the site for a path of the repository."""
        if path == "README.md":
            return "index.md"
        if path in ROOT_PAGES:
            return path
        if path.startswith("docs/") and path.endswith(".md"):
            return path.removeprefix("docs/")
        page = f"source/{path}/index.md" if (ROOT / path).is_dir() else f"source/{path}.md"
        self.sources[path] = page
        return page

    def rewritten(self, text, where, page):
        """The text of a page, which lies in a directory of the repository, with links within the site."""
        def link(match):
            target, _, anchor = match[2].partition("#")
            if not target or re.match(r"\w+:", target):
                return match[0]
            path = posixpath.normpath(posixpath.join(where, target))
            if not (ROOT / path).exists():
                sys.exit(f"make_site.py: {page}: the link {match[2]} leads nowhere")
            to = posixpath.relpath(self.page_of(path), posixpath.dirname(page) or ".")
            return f"{match[1]}({to}{'#' + anchor if anchor else ''})"
        # Code is left as it is, but that MkDocs wants no backslash before a | of code in a table.
        return PARTS.sub(lambda m: link(m) if m[2] else m[0].replace("\\|", "|"), text)

    def add_page(self, path):
        page = self.page_of(path)
        text = (ROOT / path).read_text()
        self.write(page, self.rewritten(text, posixpath.dirname(path), page))
        return page

    def add_sources(self):
        """Pages of the linked files: their text. A directory's page lists its files."""
        added = set()
        while missing := sorted(set(self.sources) - added):
            for path in missing:
                added.add(path)
                page, source = self.sources[path], ROOT / path
                if source.is_dir():
                    inside = [f for f in sorted(source.iterdir()) if f.suffix in LANGUAGES and f.name != "CMakeLists.txt"]
                    rows = [f"- [{f.name}]({posixpath.relpath(self.page_of(f'{path}/{f.name}'), posixpath.dirname(page))})"
                            for f in inside]
                    self.write(page, f"# {path}\n\n" + "\n".join(rows) + "\n")
                elif source.suffix == ".ipynb":
                    self.write(page, self.rewritten(text_of_notebook(source), posixpath.dirname(path), page))
                elif source.suffix in LANGUAGES or source.suffix == "":
                    self.write(page, f"# {path}\n\n````{LANGUAGES.get(source.suffix, 'text')}\n{source.read_text()}\n````\n")
                else:
                    sys.exit(f"make_site.py: no page can be made of {path}")


def configuration(directory, output):
    nav = [{title: entry} if isinstance(entry, str) else {title: [{t: e} for t, e in entry]} for title, entry in NAVIGATION]
    return {
        "site_name": "Weft",
        "site_description": "Tensors and neural networks on any GPU, from C++, through WebGPU",
        "docs_dir": str(directory),
        "site_dir": str(output),
        # Pages are files, so that the site can be opened without a server; nothing is fetched from elsewhere.
        "use_directory_urls": False,
        "theme": {"name": "material", "font": False, "features": ["navigation.sections", "navigation.top", "toc.follow", "content.code.copy"],
                  "palette": [{"media": "(prefers-color-scheme: light)", "scheme": "default", "primary": "indigo"},
                              {"media": "(prefers-color-scheme: dark)", "scheme": "slate", "primary": "indigo"}]},
        # The search also works without a server.
        "plugins": ["material/search", "material/offline"],
        "markdown_extensions": ["tables", "sane_lists", "pymdownx.highlight", "pymdownx.superfences", "pymdownx.inlinehilite",
                                {"toc": {"permalink": True}}],
        "extra_css": ["site.css"],
        "nav": nav,
        "validation": {"links": {"not_found": "warn", "anchors": "warn", "absolute_links": "warn", "unrecognized_links": "warn"}},
    }


def write_sources(directory):
    """Everything that MkDocs reads but its configuration."""
    pages = sorted(p.name for p in (ROOT / "docs").glob("*.md"))
    wanted = set(listed(NAVIGATION)) - {"index.md", *ROOT_PAGES}
    if set(pages) != wanted:
        sys.exit(f"make_site.py: NAVIGATION and docs/ differ in {', '.join(sorted(set(pages) ^ wanted))}")
    site = Site(directory)
    for path in ["README.md", *ROOT_PAGES] + [f"docs/{name}" for name in pages]:
        site.add_page(path)
    site.add_sources()
    site.write("site.css", CSS)


def check_replaceable(output):
    """MkDocs empties its directory first: only what is a site, or nothing, is replaced."""
    if output.exists() and (not output.is_dir() or (any(output.iterdir()) and not (output / "search").is_dir())):
        sys.exit(f"make_site.py: {output} is there and is no site; name a directory that is absent or empty")


def use_own_frame_worker(output):
    script = output / "assets" / "frame_worker.js"
    script.write_text(FRAME_WORKER)
    for page in output.rglob("*.html"):
        ours = posixpath.relpath(script.as_posix(), page.parent.as_posix())
        page.write_text(page.read_text().replace(THEIR_FRAME_WORKER, ours))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    output = parser.parse_args().directory.resolve()
    check_replaceable(output)
    with tempfile.TemporaryDirectory() as scratch:
        pages = pathlib.Path(scratch) / "pages"
        write_sources(pages)
        settings = pathlib.Path(scratch) / "mkdocs.yml"
        settings.write_text(json.dumps(configuration(pages, output)))  # JSON is YAML
        made = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--config-file", settings])
    if made.returncode:
        sys.exit("make_site.py: MkDocs could not make the site; what it said is above")
    use_own_frame_worker(output)
    print(output / "index.html")


if __name__ == "__main__":
    main()
