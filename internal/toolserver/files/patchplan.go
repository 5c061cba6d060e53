// SPDX-License-Identifier: Apache-2.0

//go:build linux

package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/patch"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

// patching is the work on one patch.
type patching struct {
	w     fileTools
	bytes int
	// known are the files that fit so far: one file cannot be changed by two names.
	known []*patchedFile
}

// patchChange is the change of a patch to files that belong together: one file, or those that it renames or copies into each other. They
// are changed together, or not at all.
type patchChange struct {
	parts  []*patch.File
	files  map[string]*patchedFile
	order  []*patchedFile // as they were first named
	report strings.Builder
	// failed is why these files are not changed.
	failed *patchMisfit
	// spoilt is true if a change could not be undone.
	spoilt bool
}

// patchedFile is a file as it was, and as it will be.
type patchedFile struct {
	local   string
	before  fs.FileInfo // nil if there was none
	old     string
	there   bool
	content string
	mode    fs.FileMode
}

// plan works out what becomes of the files. It ends early at the end of the context.
func (p *patching) plan(ctx context.Context, parts []*patch.File) ([]*patchChange, error) {
	changes, named := p.together(parts)
	if named > maxPatchedFiles {
		return nil, workspace.BadPath(toolapi.CodeTooLarge, fmt.Sprintf("A patch may change %d files, and this one names %d. Nothing was changed. Make several patches.", maxPatchedFiles, named))
	}
	for _, c := range changes {
		before := p.bytes
		for _, part := range c.parts {
			err := part.Problem
			if err == nil {
				err = p.apply(ctx, c, part)
			}
			if ended := ctx.Err(); ended != nil {
				return nil, ended
			}
			if err != nil {
				c.failed = p.w.misfitOf(part, err)
				c.files, c.order, p.bytes = nil, nil, before
				break
			}
		}
		p.known = append(p.known, c.order...)
	}
	return changes, nil
}

// together puts the parts that name the same files together, and counts the files. The order is that of the patch.
func (p *patching) together(parts []*patch.File) (changes []*patchChange, named int) {
	leader := make([]int, len(parts)) // of each part: an earlier one that it belongs to, or itself
	var of func(i int) int
	of = func(i int) int {
		if leader[i] != i {
			leader[i] = of(leader[i])
		}
		return leader[i]
	}
	owner := make(map[string]int)
	for i, part := range parts {
		leader[i] = i
		for _, name := range []string{part.From, part.To} {
			local, err := p.w.Resolve(name)
			if err != nil {
				continue
			}
			other, ok := owner[local]
			if !ok {
				owner[local] = i
				continue
			}
			a, b := of(i), of(other)
			leader[max(a, b)] = min(a, b)
		}
	}
	at := make(map[int]*patchChange)
	for i, part := range parts {
		first := of(i)
		if at[first] == nil {
			at[first] = &patchChange{files: make(map[string]*patchedFile)}
			changes = append(changes, at[first])
		}
		at[first].parts = append(at[first].parts, part)
	}
	return changes, len(owner)
}

// file returns the file with the name of a patch.
func (p *patching) file(c *patchChange, name string) (*patchedFile, error) {
	local, err := p.w.Resolve(name)
	if err != nil {
		return nil, err
	}
	if f := c.files[local]; f != nil {
		return f, nil
	}
	if local == "." || strings.HasSuffix(name, "/") {
		return nil, syscall.EISDIR
	}
	f := &patchedFile{local: local, mode: newFileMode}
	f.old, f.before, err = p.w.ReadText(local, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if f.before != nil {
		f.there, f.content, f.mode = true, f.old, f.before.Mode().Perm()
	}
	for _, others := range [][]*patchedFile{p.known, c.order} {
		for _, other := range others {
			if f.there && other.before != nil && os.SameFile(f.before, other.before) {
				return nil, workspace.BadPath(toolapi.CodeInvalidArguments, fmt.Sprintf(
					"%s and %s are the same file by a link. Give it one name in the patch.", workspace.Display(local), workspace.Display(other.local)))
			}
		}
	}
	c.files[local] = f
	c.order = append(c.order, f)
	return f, p.take(len(f.old))
}

// take counts bytes of content.
func (p *patching) take(n int) error {
	if p.bytes += n; p.bytes > maxPatchedBytes {
		return errPatchedBytes
	}
	return nil
}

// apply applies the part of the patch for one file to the files in memory.
func (p *patching) apply(ctx context.Context, c *patchChange, part *patch.File) error {
	from, to, err := p.sides(c, part)
	if err != nil {
		return err
	}
	var old string
	if from != nil && !part.Deletes {
		old = from.content
	}
	content, notes, err := patch.Apply(ctx, old, part.Hunks)
	switch {
	case err != nil:
		return err
	case to == nil && content != "":
		return unfit("it removes the file, but not all of the lines that the file has. Read it and give all of them, or remove the file in another way (rm).")
	case len(content) > toolapi.MaxFileBytes:
		return workspace.BadPath(toolapi.CodeTooLarge, fmt.Sprintf("%s would have %d bytes and may have %d.", workspace.Display(part.Name()), len(content), toolapi.MaxFileBytes))
	}
	c.tell(part, from, to, notes)
	if from != nil && from != to && !part.Copied {
		from.there, from.content = false, ""
	}
	if to != nil {
		switch {
		case from != nil:
			to.mode = from.mode
		case part.Executable:
			to.mode = newProgramMode
		}
		to.there, to.content = true, content
	}
	return p.take(len(content))
}

// sides are the files before and after; nil means that the patch has none there.
func (p *patching) sides(c *patchChange, part *patch.File) (from, to *patchedFile, err error) {
	if part.From != "" {
		if from, err = p.file(c, part.From); err != nil {
			return nil, nil, err
		}
	}
	if part.To != "" {
		if to, err = p.file(c, part.To); err != nil {
			return nil, nil, err
		}
	}
	switch {
	case from != nil && from == to && !from.there && part.MakesFile():
		return nil, to, nil // It is a new file, although its header does not mark it as new.
	case from != nil && !from.there:
		return nil, nil, fs.ErrNotExist
	case to != nil && to != from && to.there && !part.Replaces:
		return nil, nil, unfit("it makes the file " + workspace.Display(to.local) + ", which there is already. Change that file, or remove it before.")
	}
	return from, to, nil
}

// tell adds one file to the report.
func (c *patchChange) tell(part *patch.File, from, to *patchedFile, notes []string) {
	var what, name string
	switch {
	case from == nil && to.there:
		what, name = "M", plainName(to.local)
		notes = append(notes, "all of it is replaced: there was such a file")
	case from == nil:
		what, name = "A", plainName(to.local)
	case to == nil:
		what, name = "D", plainName(from.local)
	case part.Copied:
		what, name = "C", plainName(from.local)+" -> "+plainName(to.local)
	case from != to:
		what, name = "R", plainName(from.local)+" -> "+plainName(to.local)
	default:
		what, name = "M", plainName(to.local)
	}
	added, removed := part.Counts()
	if part.Deletes || from == nil && to.there {
		gone := from
		if gone == nil {
			gone = to
		}
		removed = countLines(gone.content)
	}
	fmt.Fprintf(&c.report, "%s %s +%d -%d\n", what, name, added, removed)
	for _, note := range notes {
		c.report.WriteString("  " + note + "\n")
	}
}

// countLines counts lines; the last one needs no newline.
func countLines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

// changes are the files that will be other than they were.
func (c *patchChange) changes() []fileChange {
	var changes []fileChange
	for _, f := range c.order {
		same := f.before != nil && f.content == f.old && f.mode == f.before.Mode().Perm()
		if f.there == (f.before != nil) && (same || !f.there) {
			continue
		}
		changes = append(changes, fileChange{local: f.local, before: f.before, there: f.there, content: f.content, mode: f.mode})
	}
	return changes
}

// names are the files that are changed together.
func (c *patchChange) names() []string {
	var names []string
	seen := make(map[string]bool)
	for _, part := range c.parts {
		for _, name := range []string{part.From, part.To} {
			if name != "" && !seen[name] {
				seen[name] = true
				names = append(names, workspace.Display(name))
			}
		}
	}
	return names
}

// others names the files that are not changed because they belong to one that the patch does not fit to.
func (c *patchChange) others() string {
	if names := c.names(); len(c.parts) > 1 && len(names) > 1 {
		return "  With it, these stay as they were: " + strings.Join(names, ", ") + "\n"
	}
	return ""
}
