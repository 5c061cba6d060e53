import subprocess
import sys
import unittest


class TestFormats(unittest.TestCase):
    def test_csv(self):
        done = subprocess.run([sys.executable, "-m", "timelog", "report", "sample.log", "--format", "csv"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout.splitlines()[0]), (0, "project,entries,hours"))
