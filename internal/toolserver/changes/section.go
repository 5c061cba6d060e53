// SPDX-License-Identifier: Apache-2.0

// Package changes compares a workspace with the given files, and returns a diff that "git apply" takes.
//
// Baseline stores the given files apart from the workspace. Collect walks the workspace, compares, and writes: decisions about names, lines
// and bytes are in functions without I/O. Programs change the workspace at any time, and on purpose: each file is read once, and everything
// that is read, walked or written has a bound. A file that cannot be in the diff affects no other file, and is named at the top of the
// diff.
package changes

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strings"
)

// side is a file before or after; a nil one is not there.
type side struct {
	content    []byte
	executable bool
}

// maxListedDelete is the most that a deleted text has whose lines are shown.
const maxListedDelete = 64 << 10

// zeroID is the name of a content that is not there.
var zeroID = strings.Repeat("0", 2*sha1.Size)

// writeSection writes what became of one file.
func writeSection(path string, before, after *side) []byte {
	if after == nil && len(before.content) > maxListedDelete {
		return writeDeletion(path, before)
	}
	var b bytes.Buffer
	from, to := quoted("a/", path), quoted("b/", path)
	fmt.Fprintf(&b, "diff --git %s %s\n", from, to)
	same := before != nil && after != nil
	var mode string
	switch {
	case before == nil:
		fmt.Fprintf(&b, "new file mode %s\n", after.mode())
		from = "/dev/null"
	case after == nil:
		fmt.Fprintf(&b, "deleted file mode %s\n", before.mode())
		to = "/dev/null"
	case before.executable != after.executable:
		fmt.Fprintf(&b, "old mode %s\nnew mode %s\n", before.mode(), after.mode())
	default:
		mode = " " + after.mode()
	}
	if same && bytes.Equal(before.content, after.content) {
		return b.Bytes()
	}
	fmt.Fprintf(&b, "index %s..%s%s\n", before.id(), after.id(), mode)
	old, now := before.bytes(), after.bytes()
	switch {
	case len(old) == 0 && len(now) == 0:
	case packs(before, after):
		writeLiteral(&b, now)
	default:
		fmt.Fprintf(&b, "--- %s\n+++ %s\n", named(from, path), named(to, path))
		writeHunks(&b, old, now)
	}
	return b.Bytes()
}

// writeDeletion writes that a file is gone, without its content.
func writeDeletion(path string, before *side) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "diff --git %s %s\ndeleted file mode %s\nindex %s..%s\n", quoted("a/", path), quoted("b/", path), before.mode(), before.id(), zeroID)
	if len(before.content) > 0 {
		writeLiteral(&b, nil)
	}
	return b.Bytes()
}

// named ends a name with spaces in it as git does: readers of other diffs look for a time after a tab.
func named(name, path string) string {
	if strings.HasPrefix(name, `"`) || name == "/dev/null" || !strings.Contains(path, " ") {
		return name
	}
	return name + "\t"
}

// isText reports whether content is compared line by line.
func isText(content []byte) bool { return bytes.IndexByte(content, 0) < 0 }

// packs reports whether the content of a section is packed, where no line of it can be read: one side is enough.
func packs(before, after *side) bool { return !isText(before.bytes()) || !isText(after.bytes()) }

func (s *side) bytes() []byte {
	if s == nil {
		return nil
	}
	return s.content
}

func (s *side) mode() string {
	if s.executable {
		return "100755"
	}
	return "100644"
}

// id is the name that git has for the content. A binary patch without it is not applied.
func (s *side) id() string {
	if s == nil {
		return zeroID
	}
	sum := sha1.New()
	fmt.Fprintf(sum, "blob %d\x00", len(s.content))
	sum.Write(s.content)
	return hex.EncodeToString(sum.Sum(nil))
}
