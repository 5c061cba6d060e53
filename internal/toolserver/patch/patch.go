// SPDX-License-Identifier: Apache-2.0

// Package patch reads the patches that people, programs and models write, and applies them to texts. It reads unified diffs as diff and git
// print them, and V4A, the format of apply_patch that begins with "*** Begin Patch". It does no I/O. A model writes a patch from memory, so
// the lines of a hunk decide, and not the numbers before them: counts may be wrong, and numbers missing.
//
// The cost of reading a patch is linear in its size. The cost of applying one grows with the product of its lines and those of the file, so
// Apply checks its context.
package patch

import (
	"fmt"
	"strings"

	"motorcortex.dev/motorcortex/internal/toolserver/textlines"
)

// DevNull stands in the header of a diff for a file that is not there.
const DevNull = "/dev/null"

// File is the part of a patch about one file.
type File struct {
	// From and To are its paths before and after, as the patch has them; "" means that there is no file.
	From, To string
	// Copied reports that From stays.
	Copied bool
	// Executable is for a new file.
	Executable bool
	// Replaces is true if To may exist already; its former content is lost.
	Replaces bool
	// Deletes is true if From is removed, whatever its content. Hunks is empty then.
	Deletes bool
	Hunks   []Hunk
	// Problem is why this part of the patch cannot be applied, nil if it can. Other parts are not touched by it.
	Problem error

	// label is for a file whose names cannot be read.
	label string
	// git reports that the header is one of git.
	git bool
}

// Name returns the path to speak of the file by.
func (f *File) Name() string {
	switch {
	case f.To != "":
		return f.To
	case f.From != "":
		return f.From
	}
	return f.label
}

// Counts returns how many lines are added and removed.
func (f *File) Counts() (added, removed int) {
	for _, h := range f.Hunks {
		old, made, kept := h.counts()
		added += made - kept
		removed += old - kept
	}
	return added, removed
}

// MakesFile reports whether the patch has one hunk that begins with nothing, as that of a new file does.
func (f *File) MakesFile() bool {
	if len(f.Hunks) != 1 || f.Hunks[0].first != 0 {
		return false
	}
	old, _, _ := f.Hunks[0].counts()
	return old == 0
}

// Parse reads a patch of any number of files. Text before and between the parts is ignored. It returns an error, in sentences for the
// author of the patch, if it is unclear which lines belong to which file. A problem with one file alone is in its Problem.
func Parse(text string) ([]*File, error) {
	r := &reader{lines: textlines.Split(text)}
	r.v4a = r.isV4A()
	for r.at < len(r.lines) {
		if r.v4a {
			r.nextV4A()
		} else if err := r.nextDiff(); err != nil {
			return nil, err
		}
	}
	if len(r.files) == 0 {
		return nil, unclear("It names no file. A diff has the two lines \"--- a/PATH\" and \"+++ b/PATH\" before the first hunk of each file. " +
			"A patch that begins with \"*** Begin Patch\" has a line \"*** Update File: PATH\", \"*** Add File: PATH\" or \"*** Delete File: PATH\".")
	}
	for _, f := range r.files {
		if f.Problem == nil && len(f.Hunks) == 0 && f.From == f.To {
			f.Problem = unclear("it has no hunk, so there is nothing to change.")
		}
	}
	return r.files, nil
}

// unclear is the problem with a patch, in sentences for its author.
type unclear string

func (u unclear) Error() string { return string(u) }

func unclearf(format string, args ...any) error { return unclear(fmt.Sprintf(format, args...)) }

// shownName is a path for a message, on one line.
func shownName(name string) string {
	return textlines.Shown(strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(name))
}

// reader takes a patch apart.
type reader struct {
	lines []string // each with its newline
	at    int
	files []*File
	// v4a reports that the patch has the format of apply_patch.
	v4a bool
	// ended reports that an "*** End Patch" was read.
	ended bool
	// skipping is true if the last file has a problem, so that its hunks are ignored.
	skipping bool
}

func (r *reader) errorf(format string, args ...any) error {
	return unclearf("Line %d: %s", r.at+1, fmt.Sprintf(format, args...))
}

// line is the line n lines on, "" behind the end.
func (r *reader) line(n int) string {
	if r.at+n < len(r.lines) {
		return r.lines[r.at+n]
	}
	return ""
}

// add begins the part of another file.
func (r *reader) add(f *File) {
	r.files = append(r.files, f)
	r.skipping = f.Problem != nil
}

// current is the file that hunks belong to.
func (r *reader) current() *File { return r.files[len(r.files)-1] }

// fail sets the problem of the current file.
func (r *reader) fail(err error) {
	r.current().Problem = err
	r.skipping = true
}
