// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"strconv"
	"strings"
	"time"
)

// nextDiff reads a header, a hunk, or a line that is neither. It determines which lines are headers, because names are written in more ways
// than one: with the prefixes of git, with others, or without.
func (r *reader) nextDiff() error {
	line := r.line(0)
	begins := func(mark string) bool { return strings.HasPrefix(line, mark) }
	switch {
	case begins("diff --git "):
		r.gitHeader()
		return nil
	case begins("--- ") && strings.HasPrefix(r.line(1), "+++ "):
		r.plainHeader()
		return nil
	case r.skipping:
	case begins("@@@ "), begins("diff --cc "), begins("diff --combined "):
		return r.errorf("this is the combined diff of a merge, which cannot be applied. Make a diff of two versions.")
	case begins("@@") && len(r.files) == 0:
		return r.errorf("a hunk comes before the first file header, the lines \"--- a/PATH\" and \"+++ b/PATH\".")
	case begins("@@"):
		if err := r.hunk(); err != nil {
			r.fail(err)
		}
		return nil
	case begins("GIT binary patch"), begins("Binary files ") && strings.HasSuffix(strings.TrimSpace(line), " differ"):
		r.binary()
	case len(r.files) > 0 && (begins("--- ") || begins("+++ ")):
		// The file of the lines after it is unknown, and so is whether the hunk before it is complete.
		return r.errorf("a file header is the two lines \"--- a/PATH\" and \"+++ b/PATH\", one after the other. " +
			"If the line is of the hunk before it, the counts in the header of that hunk are too small.")
	}
	r.at++
	return nil
}

// binary is a file of which the diff has no lines.
func (r *reader) binary() {
	err := r.errorf("binary files cannot be patched. Leave them out: a program has to write them.")
	if len(r.files) > 0 && r.current().git && len(r.current().Hunks) == 0 {
		r.fail(err)
		return
	}
	r.add(&File{label: strings.TrimSpace(r.line(0)), Problem: err})
}

// plainHeader reads the header that diff -u writes.
func (r *reader) plainHeader() {
	f, err := plainFile(r.line(0), r.line(1))
	if err != nil {
		f = &File{label: strings.TrimSpace(r.line(0)), Problem: r.errorf("%v", err)}
	}
	r.add(f)
	r.at += 2
}

// plainFile is the file of the lines "--- PATH" and "+++ PATH".
func plainFile(old, made string) (*File, error) {
	from, fromNever, err := headerName(old)
	if err != nil {
		return nil, err
	}
	to, toNever, err := headerName(made)
	if err != nil {
		return nil, err
	}
	switch {
	case fromNever && toNever:
		return nil, unclear("a file is made or removed, and not both at once.")
	case from == DevNull:
		to = strings.TrimPrefix(to, "b/")
	case to == DevNull:
		from = strings.TrimPrefix(from, "a/")
	default:
		from, to = dropSuffixes(dropPrefixes(from, to))
	}
	f := &File{From: from, To: to}
	switch {
	case fromNever:
		f.From = ""
	case toNever:
		f.To = ""
	case from != to:
		return nil, unclearf("the names %s and %s differ. Give the same name in both lines; to rename a file write the lines "+
			"\"diff --git a/OLD b/NEW\", \"rename from OLD\" and \"rename to NEW\".", shownName(from), shownName(to))
	}
	return f, nil
}

// headerName is the path in a line "--- PATH" or "+++ PATH". never is true if there is no such file: the path is /dev/null, or has the
// timestamp with which diff -N marks that.
func headerName(line string) (name string, never bool, err error) {
	line = strings.TrimRight(line[len("--- "):], "\r\n")
	if strings.HasPrefix(line, `"`) {
		name, _, err = quotedName(line)
		return name, name == DevNull, err
	}
	name, stamp, _ := strings.Cut(line, "\t")
	name = strings.TrimRight(name, " ")
	if name == "" {
		return "", false, unclear("a file header has no name.")
	}
	made, err := time.Parse("2006-01-02 15:04:05.999999999 -0700", strings.TrimSpace(stamp))
	return name, name == DevNull || err == nil && made.Unix() == 0, nil
}

// quotedName reads a name in the quotes that git puts around one with special characters, and returns the text after it.
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
