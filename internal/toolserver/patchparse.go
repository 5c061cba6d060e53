// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

const devNull = "/dev/null"

// filePatch is what a patch says about one file.
type filePatch struct {
	// from and to are its paths before and after; "" means that there is no file.
	from, to string
	// copied says that from stays.
	copied bool
	// executable is for a new file.
	executable bool
	hunks      []hunk
}

// hunk is one change of a file.
type hunk struct {
	*gitdiff.TextFragment
	// number counts the hunks of a file from 1, line is that of its header in the patch.
	number, line int
	header       string
}

// name is the path to speak of the file by.
func (f *filePatch) name() string {
	if f.to != "" {
		return f.to
	}
	return f.from
}

// counts are the lines that are added and removed.
func (f *filePatch) counts() (added, removed int64) {
	for _, h := range f.hunks {
		added += h.LinesAdded
		removed += h.LinesDeleted
	}
	return added, removed
}

// unclear is what is wrong in a patch, in sentences for who wrote it.
type unclear string

func (u unclear) Error() string { return string(u) }

func unclearf(format string, args ...any) error { return unclear(fmt.Sprintf(format, args...)) }

// patchReader takes a patch apart. Which lines are headers is found out here, because names are written in more ways than
// go-gitdiff can tell apart: with the prefixes of git, with others, or without. It reads the hunks.
type patchReader struct {
	lines []string // each with its newline
	at    int
	files []*filePatch
	// hunkEnd is the line after the last hunk.
	hunkEnd int
}

// parsePatch reads a unified diff of any number of files. What comes before a header is left out, as patch does.
func parsePatch(text string) ([]*filePatch, error) {
	r := &patchReader{lines: splitLines(text), hunkEnd: -1}
	for r.at < len(r.lines) {
		if err := r.next(); err != nil {
			return nil, err
		}
	}
	if len(r.files) == 0 {
		return nil, unclear("It has no file header: before the first hunk of each file (@@ -1,3 +1,4 @@) there must be the two lines " +
			`"--- a/PATH" and "+++ b/PATH".`)
	}
	for _, f := range r.files {
		if len(f.hunks) == 0 && f.from == f.to {
			return nil, unclearf("It has no hunk for %s, so there is nothing to change.", display(f.name()))
		}
	}
	return r.files, nil
}

func (r *patchReader) errorf(format string, args ...any) error {
	return unclearf("Line %d: %s", r.at+1, fmt.Sprintf(format, args...))
}

// line is the line n lines on, "" behind the end.
func (r *patchReader) line(n int) string {
	if r.at+n < len(r.lines) {
		return r.lines[r.at+n]
	}
	return ""
}

// next reads a header, a hunk, or a line that is neither.
func (r *patchReader) next() error {
	line := r.line(0)
	switch begins := func(mark string) bool { return strings.HasPrefix(line, mark) }; {
	case begins("diff --git "):
		return r.gitHeader()
	case begins("--- ") && strings.HasPrefix(r.line(1), "+++ "):
		return r.plainHeader()
	case begins("@@@ "), begins("diff --cc "), begins("diff --combined "):
		return r.errorf("this is the combined diff of a merge, which cannot be applied. Make a diff of two versions.")
	case begins("@@"):
		return r.hunk()
	case begins("GIT binary patch"), begins("Binary files ") && strings.HasSuffix(strings.TrimSpace(line), " differ"):
		return r.errorf("binary files cannot be patched. Leave them out, and write them with bash or code.")
	case len(r.files) > 0 && (begins("--- ") || begins("+++ ")):
		return r.errorf("a file header is the two lines \"--- a/PATH\" and \"+++ b/PATH\", one after the other.")
	case r.at == r.hunkEnd && isHunkLine(line):
		return r.errorf("the hunk before has more lines than its header says. Correct the counts in the header: @@ -FIRST,COUNT +FIRST,COUNT @@.")
	}
	r.at++
	return nil
}

// isHunkLine says whether a line would belong to a hunk. The end of a mail that git made does not.
func isHunkLine(line string) bool {
	text := strings.TrimSpace(line)
	return strings.ContainsAny(line[:1], "+- ") && text != "" && text != "--"
}

// plainHeader reads the header that diff -u writes.
func (r *patchReader) plainHeader() error {
	from, fromNever, err := headerName(r.line(0))
	if err != nil {
		return r.errorf("%v", err)
	}
	to, toNever, err := headerName(r.line(1))
	if err != nil {
		return r.errorf("%v", err)
	}
	switch {
	case fromNever && toNever:
		return r.errorf("a file is made or removed, and not both at once.")
	case from == devNull:
		to = strings.TrimPrefix(to, "b/")
	case to == devNull:
		from = strings.TrimPrefix(from, "a/")
	default:
		from, to = dropSuffixes(dropPrefixes(from, to))
	}
	f := &filePatch{from: from, to: to}
	switch {
	case fromNever:
		f.from = ""
	case toNever:
		f.to = ""
	case from != to:
		return r.errorf("the names %s and %s differ. Give the same name in both lines; to rename a file write the lines "+
			"\"diff --git a/OLD b/NEW\", \"rename from OLD\" and \"rename to NEW\".", display(from), display(to))
	}
	r.files = append(r.files, f)
	r.at += 2
	return nil
}

// headerName is the path in a line "--- PATH" or "+++ PATH". never says that there is no such file: it is /dev/null, or
// has the time with which diff -N says so.
func headerName(line string) (name string, never bool, err error) {
	line = strings.TrimRight(line[len("--- "):], "\r\n")
	if strings.HasPrefix(line, `"`) {
		name, _, err = quotedName(line)
		return name, name == devNull, err
	}
	name, stamp, _ := strings.Cut(line, "\t")
	name = strings.TrimRight(name, " ")
	if name == "" {
		return "", false, unclear("a file header has no name.")
	}
	made, err := time.Parse("2006-01-02 15:04:05.999999999 -0700", strings.TrimSpace(stamp))
	return name, name == devNull || err == nil && made.Unix() == 0, nil
}

// quotedName reads a name in the quotes that git puts around one with special characters, and gives what follows it.
func quotedName(text string) (name, rest string, err error) {
	quoted, err := strconv.QuotedPrefix(text)
	if err == nil {
		name, err = strconv.Unquote(quoted)
	}
	if err != nil || name == "" {
		return "", "", unclear("a name in quotes cannot be read.")
	}
	return name, text[len(quoted):], nil
}

// dropPrefixes leaves the first folder out of two names that differ in nothing else: a/ and b/ as git writes them, or the
// names of two trees that were compared.
func dropPrefixes(from, to string) (string, string) {
	_, fromRest, ok := strings.Cut(from, "/")
	_, toRest, okToo := strings.Cut(to, "/")
	switch {
	case from == to || !ok || !okToo || fromRest == "" || toRest == "":
		return from, to
	case fromRest == toRest:
		return fromRest, toRest
	case strings.HasPrefix(from, "a/") && strings.HasPrefix(to, "b/"):
		return fromRest, toRest
	}
	return from, to
}

// dropSuffixes leaves the suffix out of one of two names by which the old or the new version of the other was kept.
func dropSuffixes(from, to string) (string, string) {
	for _, suffix := range []string{".orig", ".old", ".bak", ".new", "~"} {
		if from == to+suffix {
			return to, to
		}
		if to == from+suffix {
			return from, from
		}
	}
	return from, to
}

// hunkHeader has numbers that fit into an int with room to add to them.
var hunkHeader = regexp.MustCompile(`^@@ -([0-9]{1,9})(?:,([0-9]{1,9}))? \+([0-9]{1,9})(?:,([0-9]{1,9}))? @@`)

// libraryLine is where go-gitdiff saw an error, in what it was given.
var libraryLine = regexp.MustCompile(`^gitdiff: line [0-9]+: `)

// hunk reads a hunk. Its end is where the counts of its header say.
func (r *patchReader) hunk() error {
	if len(r.files) == 0 {
		return r.errorf("a hunk comes before the first file header, the lines \"--- a/PATH\" and \"+++ b/PATH\".")
	}
	numbers := hunkHeader.FindStringSubmatch(r.line(0))
	if numbers == nil {
		return r.errorf("the header of a hunk is @@ -FIRST,COUNT +FIRST,COUNT @@ with the numbers of lines before and after.")
	}
	count := func(text string) int {
		if text == "" {
			return 1
		}
		n, _ := strconv.Atoi(text) // The pattern lets only numbers through.
		return n
	}
	before, after := count(numbers[2]), count(numbers[4])
	begin := r.at
	for r.at++; before > 0 || after > 0; r.at++ {
		line := r.line(0)
		switch {
		case strings.HasPrefix(line, "+"):
			after--
		case strings.HasPrefix(line, "-"):
			before--
		case strings.HasPrefix(line, " "), line == "\n", line == "\r\n":
			before, after = before-1, after-1
		case !strings.HasPrefix(line, `\ `):
			before = -1
		}
		if before < 0 || after < 0 || line == "" {
			r.at = begin
			return r.errorf("the lines of the hunk are not as many as its header says. Correct the counts in %s.", display(strings.TrimSpace(r.line(0))))
		}
	}
	if strings.HasPrefix(r.line(0), `\ `) {
		r.at++
	}
	f := r.files[len(r.files)-1]
	fragment, err := readFragment(r.lines[begin:r.at])
	if err != nil {
		r.at = begin
		return r.errorf("the hunk cannot be read: %s.", libraryLine.ReplaceAllString(err.Error(), ""))
	}
	f.hunks = append(f.hunks, hunk{
		TextFragment: fragment, number: len(f.hunks) + 1, line: begin + 1, header: shownLine(r.lines[begin]),
	})
	r.hunkEnd = r.at
	return nil
}

// readFragment reads one hunk, of which the first line is the header.
func readFragment(lines []string) (*gitdiff.TextFragment, error) {
	lines = slices.Clone(lines)
	for i, line := range lines {
		if line == "\r\n" {
			lines[i] = " \r\n" // An empty line, of which an editor took the space away.
		}
	}
	if last := &lines[len(lines)-1]; !strings.HasSuffix(*last, "\n") {
		*last += "\n" // The end of the patch is not that of a file, which a line of its own would tell.
	}
	files, _, err := gitdiff.Parse(strings.NewReader("--- f\n+++ f\n" + strings.Join(lines, "")))
	if err != nil {
		return nil, err
	}
	if len(files) != 1 || len(files[0].TextFragments) != 1 {
		return nil, errors.New("it is not one hunk")
	}
	return files[0].TextFragments[0], files[0].TextFragments[0].Validate()
}
