# SPDX-License-Identifier: Apache-2.0
content = open("members.csv", "rb").read()
assert not content.startswith(b"\xef\xbb\xbf"), "there is a byte order mark"
assert b"\r" not in content, "lines end in CR LF"
content.decode("utf-8")
