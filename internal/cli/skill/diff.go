// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/skill"
)

// maxOdd is how many bytes a text has at least for each one that is no text.
const maxOdd = 4

func (c Command) diff() *cobra.Command {
	cmd := &cobra.Command{Use: "diff NAME", Short: "Compare a skill with what is approved of it.", Args: ofSkill()}
	var o options
	o.bindRevision(cmd)
	cmd.RunE = verb.Asks(func(cmd *cobra.Command, args []string) error {
		o.name = args[0]
		return c.diffSkill(cmd.Context(), &o)
	})
	return cmd
}

func (c Command) diffSkill(ctx context.Context, o *options) error {
	s, rev, err := c.findRevision(ctx, o)
	if err != nil {
		return err
	}
	now, err := s.files(ctx, rev)
	if err != nil {
		return err
	}
	base, err := s.approvedFiles(ctx)
	if err != nil {
		return err
	}
	if base == nil {
		fmt.Fprintln(c.Err, "note: nothing was approved yet, so all of it is new")
	}
	if c.compare(base, now) {
		return verb.ErrNo
	}
	return nil
}

// approvedFiles reads the files of the approved revision, nil if nothing was approved yet.
func (s subject) approvedFiles(ctx context.Context) ([]skill.File, error) {
	if s.Status.Approved == nil {
		return nil, nil
	}
	approved, err := s.revision(ctx, s.Status.Approved.RevisionName)
	if err != nil {
		return nil, err
	}
	return s.files(ctx, approved)
}

// compare prints the differences by path, and reports whether there are any.
func (c Command) compare(base, now []skill.File) (different bool) {
	old, current := byPath(base), byPath(now)
	d := skill.Compare(skill.Listed(base), skill.Listed(now))
	for _, path := range slices.Sorted(slices.Values(slices.Concat(d.Changed, d.Added, d.Deleted))) {
		c.compareFile(old[path], current[path])
		different = true
	}
	return different
}

func byPath(files []skill.File) map[string]*skill.File {
	m := make(map[string]*skill.File, len(files))
	for i := range files {
		m[files[i].Path] = &files[i]
	}
	return m
}

// compareFile prints how a file changed. One of the two can be nil.
func (c Command) compareFile(old, now *skill.File) {
	from, to, name := "/dev/null", "/dev/null", ""
	var before, after []byte
	if old != nil {
		name, before = shown(old.Path), old.Content
		from = "a/" + name
	}
	if now != nil {
		name, after = shown(now.Path), now.Content
		to = "b/" + name
	}
	if was, is := program(old), program(now); was != is {
		fmt.Fprintf(c.Out, "program %s: %t is now %t\n", name, was, is)
	}
	switch {
	case old != nil && now != nil && bytes.Equal(before, after):
		return
	case !mostlyText(before) || !mostlyText(after):
		fmt.Fprintf(c.Out, "--- %s\n+++ %s\nthe file is no text: %d bytes are now %d\n", from, to, len(before), len(after))
		return
	case len(before)+len(after) == 0:
		fmt.Fprintf(c.Out, "--- %s\n+++ %s\n", from, to)
	}
	// Its time is bounded: it gives up on finding the common lines of long files.
	fmt.Fprint(c.Out, udiff.Unified(from, to, lines(before), lines(after)))
}

func program(f *skill.File) bool { return f != nil && f.Executable }

func isText(content []byte) bool { return utf8.Valid(content) && !bytes.ContainsRune(content, 0) }

// mostlyText reports whether a person can read a file. One byte that is no text must not hide all the others.
func mostlyText(content []byte) bool {
	odd := bytes.Count(content, []byte{0})
	for rest := content; len(rest) > 0; {
		c, n := utf8.DecodeRune(rest)
		if c == utf8.RuneError && n == 1 {
			odd++
		}
		rest = rest[n:]
	}
	// A script can have any bytes in its comments.
	return odd*maxOdd <= len(content) || bytes.HasPrefix(content, []byte("#!"))
}

// lines is a text with each line as it is shown.
func lines(content []byte) string {
	var all strings.Builder
	for line := range strings.Lines(string(content)) {
		text, whole := strings.CutSuffix(line, "\n")
		all.WriteString(shown(text))
		if whole {
			all.WriteByte('\n')
		}
	}
	return all.String()
}
