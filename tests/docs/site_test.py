#!/usr/bin/env python3
"""What ./dev docs gives to MkDocs: every page of docs/ is in the navigation, and links lead to pages of the site.

  site_test.py SOURCE_DIR
"""
import importlib.util
import pathlib
import posixpath
import re
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
specification = importlib.util.spec_from_file_location("make_site", SOURCE / "docs" / "make_site.py")
make_site = importlib.util.module_from_spec(specification)
specification.loader.exec_module(make_site)


class SiteTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)

    def test_links_are_rewritten_outside_of_code(self):
        site = make_site.Site(self.scratch)
        rewritten = lambda text: site.rewritten(text, "docs", "tensors.md")  # noqa: E731
        self.assertEqual(rewritten("[a](../README.md#in-c), [`o`](ops.md)"), "[a](index.md#in-c), [`o`](ops.md)")
        self.assertEqual(rewritten("[`graph.h`](../include/weft/graph.h) and [`x`](../include/weft/shape.h)"),
                         "[`graph.h`](source/include/weft/graph.h.md) and [`x`](source/include/weft/shape.h.md)")
        self.assertEqual(rewritten("[there](https://example.org/a) [here](#views) ![e](../examples)"),
                         "[there](https://example.org/a) [here](#views) ![e](source/examples/index.md)")
        for code in ("`x[{0, 1}](y)`", "```cpp\n[](Tensor a) { return a; }\n```"):
            self.assertEqual(rewritten(code), code)
        self.assertEqual(rewritten("| `a \\| b` | c \\| d |"), "| `a | b` | c \\| d |")
        with self.assertRaises(SystemExit) as failure:
            rewritten("[a](nowhere.md)")
        self.assertIn("tensors.md: the link nowhere.md leads nowhere", str(failure.exception))

    def test_every_link_of_the_site_has_a_page(self):
        make_site.write_sources(self.scratch)
        links = 0
        for page in self.scratch.rglob("*.md"):
            if "source" in page.parts and page.name != "index.md":
                continue  # the text of a file
            for match in make_site.PARTS.finditer(page.read_text()):
                target = (match[2] or "").partition("#")[0]
                if not target or re.match(r"\w+:", target):
                    continue
                links += 1
                path = posixpath.normpath(posixpath.join(page.relative_to(self.scratch).parent.as_posix(), target))
                self.assertTrue((self.scratch / path).exists(), f"{page.name}: {target}")
        self.assertGreater(links, 60)
        self.assertIn("void softmax(", (self.scratch / "source/include/weft/kernels/softmax.h.md").read_text())
        tour = (self.scratch / "source/bindings/python/examples/tour.ipynb.md").read_text()
        self.assertTrue(tour.startswith("# A tour of Weft\n"))
        self.assertIn("](../../../../python.md)", tour)
        self.assertIn("```python\nimport matplotlib.pyplot as plt\n", tour)
        self.assertIn("[tutorial.cc](tutorial.cc.md)", (self.scratch / "source/examples/index.md").read_text())

    def test_the_navigation_has_every_page(self):
        pages = {p.name for p in (SOURCE / "docs").glob("*.md")} | {"index.md", *make_site.ROOT_PAGES}
        self.assertEqual(sorted(make_site.listed(make_site.NAVIGATION)), sorted(pages))

    def test_what_is_no_site_is_not_replaced(self):
        make_site.check_replaceable(self.scratch / "absent")
        make_site.check_replaceable(self.scratch)
        (self.scratch / "search").mkdir()
        make_site.check_replaceable(self.scratch)
        (self.scratch / "search").rmdir()
        (self.scratch / "thesis.tex").write_text("x")
        with self.assertRaises(SystemExit):
            make_site.check_replaceable(self.scratch)

    def test_pages_use_the_own_frame_worker(self):
        (self.scratch / "assets").mkdir()
        (self.scratch / "source").mkdir()
        for page in ("index.html", "source/a.html"):
            (self.scratch / page).write_text(f'<script src="{make_site.THEIR_FRAME_WORKER}"></script>')
        make_site.use_own_frame_worker(self.scratch)
        self.assertEqual((self.scratch / "index.html").read_text(), '<script src="assets/frame_worker.js"></script>')
        self.assertEqual((self.scratch / "source/a.html").read_text(), '<script src="../assets/frame_worker.js"></script>')


if __name__ == "__main__":
    unittest.main()
