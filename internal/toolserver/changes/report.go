// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
)

const (
	// maxTold is how many omitted files are reported by name, and maxIgnored how many folders with leftovers of programs.
	maxTold    = 40
	maxIgnored = 20
	// maxHead is the most that is written before the first file.
	maxHead = 16 << 10
	// maxShownPath is the most of a path that is shown there.
	maxShownPath = 256
)

// Reasons for which a file is omitted from a diff.
const (
	whyLink       = "a symbolic link"
	whyNotRegular = "no regular file"
	whyUnreadable = "it cannot be read"
	whyName       = "git applies no diff with such a name"
	whyValue      = "it holds a value that programs of the run were given"
	whyFull       = "the diff has no room for it"
	whyManyPacked = "the diff packs no more of what is or was no text"
	whyTime       = "there was no time left for it"
	whyManyBytes  = "more files than are read have changed"
	whyNotKept    = "it changed, and is too large for its former content to be kept"
)

// LeftOut is a file or folder whose changes are not in the diff, and why.
type LeftOut struct{ Path, Why string }

// report has the omitted files.
type report struct {
	left    []ranked
	ignored map[string]bool
}

type ranked struct {
	LeftOut
	rank int
}

// leave records that a file is omitted.
func (r *report) leave(rank int, path, why string) {
	r.left = append(r.left, ranked{LeftOut{path, why}, rank})
}

// ignore records a folder with leftovers of programs.
func (r *report) ignore(path string) {
	if r.ignored == nil {
		r.ignored = map[string]bool{}
	}
	r.ignored[path] = true
}

// all is the omitted files, the most important first, each path once.
func (r *report) all() []LeftOut {
	slices.SortFunc(r.left, func(x, y ranked) int {
		return cmp.Or(cmp.Compare(x.rank, y.rank), strings.Compare(x.Path, y.Path), strings.Compare(x.Why, y.Why))
	})
	seen := map[string]bool{}
	var all []LeftOut
	for _, l := range r.left {
		if !seen[l.Path] {
			seen[l.Path] = true
			all = append(all, l.LeftOut)
		}
	}
	return all
}

// head is the text before the first file of a diff, which git ignores. It has no names if naming is false.
func (r *report) head(naming bool) []byte {
	var b bytes.Buffer
	b.WriteString("# What the run changed in its workspace, against what was given. In a folder with what was given: git apply\n")
	left := r.all()
	if len(left) > 0 {
		fmt.Fprintf(&b, "# Left out, %d:\n", len(left))
	}
	told := 0
	for _, l := range left {
		line := fmt.Sprintf("#   %s: %s\n", shown(l.Path), l.Why)
		if !naming || told == maxTold || b.Len()+len(line) > maxHead/2 {
			break
		}
		b.WriteString(line)
		told++
	}
	if told < len(left) {
		fmt.Fprintf(&b, "#   and %d more\n", len(left)-told)
	}
	if len(left) > 0 {
		b.WriteString("# Files that are left out for their size can be had as artifacts: below artifacts/, or by save_artifact.\n")
	}
	if len(r.ignored) > 0 && naming {
		fmt.Fprintf(&b, "# Not looked at, as build output and caches, %d:\n", len(r.ignored))
		for i, path := range sortedKeys(r.ignored) {
			line := "#   " + shown(path) + "\n"
			if i == maxIgnored || b.Len()+len(line) > maxHead-1024 {
				b.WriteString("#   and more\n")
				break
			}
			b.WriteString(line)
		}
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// shown is a path on one line, and not longer than is read.
func shown(path string) string {
	s := quoted("", path)
	if len(s) > maxShownPath {
		return strings.ToValidUTF8(s[:maxShownPath], "") + "…"
	}
	return s
}

func sortedKeys(m map[string]bool) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
