import unittest

from timelog.entries import parse
from timelog.report import as_text, totals


class ReportTest(unittest.TestCase):
    def test_text(self):
        log = "2026-03-01 09:00 10:30 b\n# no\n\n2026-03-01 11:00 11:45 a\n2026-03-02 08:00 09:30 b\n"
        self.assertEqual(as_text(totals(parse(log))), "a: 0:45 h\nb: 3:00 h\n")

    def test_a_bad_line_is_named(self):
        with self.assertRaisesRegex(ValueError, "line 2"):
            parse("2026-03-01 09:00 10:30 b\n2026-03-01 9 b\n")
