"""Planted Markdown."""
import unittest

from test_support import TreeTest


class DocumentTest(TreeTest):

    def test_one_title(self):
        self.assert_clean({"a.md": "# A\n\n## B\n\n```sh\n# a comment\n```\n"})
        self.assert_fires("title", {"a.md": "## A\n"})
        self.assert_fires("title", {"a.md": "# A\n\n# B\n"})

    def test_relative_links(self):
        target = {"docs/b.md": "# B\n\n## Wire format, v1\n\nSee [a](../a.md).\n"}
        for link in ("docs/b.md", "docs", "docs/b.md#wire-format-v1", "#a", "https://example.org"):
            self.assert_clean({**target, "a.md": f"# A\n\n[b]({link})\n"})
        for link in ("docs/c.md", "b.md", "docs/b.md#wire", "../outside.md"):
            self.assert_fires("link", {**target, "a.md": f"# A\n\n[b]({link})\n"}, line=3)

    def test_links_in_code_are_text(self):
        self.assert_clean({"a.md": "# A\n\n`[b](no.md)`\n\n```\n[b](no.md)\n```\n"})


if __name__ == "__main__":
    unittest.main()
