# SPDX-License-Identifier: Apache-2.0
import json
import subprocess
import sys
import unittest


def report(*args, log=None):
    if log is not None:
        with open("hidden.log", "w", encoding="utf-8") as f:
            f.write(log)
        args = ("hidden.log",) + args
    else:
        args = ("sample.log",) + args
    done = subprocess.run([sys.executable, "-m", "timelog", "report", *args], capture_output=True)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class Hidden(unittest.TestCase):
    def test_acceptance(self):
        want = 'project,entries,hours\n"Acme, Inc.",1,1.50\nNight watch,1,8.00\n'
        self.assertEqual(report("--format", "csv", "--since", "2026-03-02", "--until", "2026-03-02")[:2], (0, want))

    def test_text_stays(self):
        self.assertEqual(report()[:2], (0, "Acme, Inc.: 3:00 h\nNight watch: 8:00 h\nSide|ways: 3:05 h\n"))
        self.assertEqual(report("--format", "text", "--project", "side|WAYS")[1], "Side|ways: 3:05 h\n")

    def test_json(self):
        code, out, _ = report("--format", "json", "--project", "acme, inc.", "--project", "Night watch")
        want = [{"project": "Acme, Inc.", "entries": 2, "minutes": 180}, {"project": "Night watch", "entries": 1, "minutes": 480}]
        self.assertEqual((code, json.loads(out)), (0, want))
        self.assertIn('\n  {\n    "', out)

    def test_markdown(self):
        want = "| project | entries | hours |\n|---|---:|---:|\n| Side\\|ways | 2 | 3.08 |\n"
        self.assertEqual(report("--format", "markdown", "--project", "Side|ways")[1], want)

    def test_quotes(self):
        self.assertEqual(report("--format", "csv", log='2026-01-01 10:00 11:00 say "hi"\n')[1], 'project,entries,hours\n"say ""hi""",1,1.00\n')

    def test_nothing_left(self):
        for form, want in (("csv", "project,entries,hours\n"), ("markdown", "| project | entries | hours |\n|---|---:|---:|\n"), ("text", "")):
            self.assertEqual(report("--format", form, "--project", "none")[:2], (0, want))
        self.assertEqual(json.loads(report("--format", "json", "--project", "none")[1]), [])

    def test_bad_dates(self):
        for option in ("--since", "--until"):
            code, out, err = report(option, "02.03.2026")
            self.assertEqual((code, out), (2, ""))
            self.assertIn(option, err)
