// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

const (
	patchUsage = `"patch", a unified diff`

	// maxPatchedFiles is how many files one patch may name.
	maxPatchedFiles = 256
	// maxPatchedBytes is the most that these files may have together, before and after, while they are in memory.
	maxPatchedBytes = 16 << 20

	newFileMode    fs.FileMode = 0o644
	newProgramMode fs.FileMode = 0o755
)

// patchTool applies a unified diff: all of it, or nothing. Everything is worked out in memory before the first file changes.
func (w *workspace) patchTool(ctx context.Context, j job) toolapi.Result {
	var args toolapi.PatchArgs
	if bad := decodeArgs(j.args, &args, patchUsage); bad != nil {
		return *bad
	}
	if strings.ContainsRune(args.Patch, 0) {
		return failure(toolapi.CodeInvalidArguments, "The patch contains a NUL character, which no text file has, and nothing was changed. Binary files cannot be patched.")
	}
	files, err := parsePatch(args.Patch)
	if err != nil {
		return failure(toolapi.CodeInvalidArguments, "The patch cannot be applied, and nothing was changed. %v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, fileToolTimeout)
	defer cancel()
	p := patching{w: w, files: make(map[string]*patchedFile)}
	for _, f := range files {
		if err := p.apply(ctx, f); err != nil {
			if ctx.Err() != nil {
				return interrupted(ctx, "while it looked for the places of the hunks; nothing was changed")
			}
			return w.patchFailure(f, err)
		}
	}
	if err := w.changeAll(p.changes()); err != nil {
		return w.changeFailure(err)
	}
	return success("The patch is applied:\n" + p.report.String())
}

// patching is the work on one patch: the files as they will be.
type patching struct {
	w      *workspace
	files  map[string]*patchedFile
	order  []*patchedFile // as they were first named
	bytes  int
	report strings.Builder
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

// unfit is a patch that does not fit to the files that there are.
type unfit string

func (u unfit) Error() string { return string(u) }

// file gives the file with the name of a patch.
func (p *patching) file(name string) (*patchedFile, error) {
	local, err := p.w.resolve(name)
	if err != nil {
		return nil, err
	}
	if f := p.files[local]; f != nil {
		return f, nil
	}
	switch {
	case local == "." || strings.HasSuffix(name, "/"):
		return nil, syscall.EISDIR
	case len(p.files) == maxPatchedFiles:
		return nil, &pathError{toolapi.CodeTooLarge, fmt.Sprintf("A patch may change %d files. Make several patches.", maxPatchedFiles)}
	}
	f := &patchedFile{local: local, mode: newFileMode}
	f.old, f.before, err = p.w.readText(local, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if f.before != nil {
		f.there, f.content, f.mode = true, f.old, f.before.Mode().Perm()
	}
	for _, other := range p.order {
		if f.there && other.before != nil && os.SameFile(f.before, other.before) {
			return nil, &pathError{toolapi.CodeInvalidArguments, fmt.Sprintf(
				"%s and %s are the same file by a link. Give it one name in the patch.", display(local), display(other.local))}
		}
	}
	p.files[local] = f
	p.order = append(p.order, f)
	return f, p.take(len(f.old))
}

// take counts bytes of content.
func (p *patching) take(n int) error {
	if p.bytes += n; p.bytes > maxPatchedBytes {
		return &pathError{toolapi.CodeTooLarge, fmt.Sprintf("The files of the patch have more than %d MiB together. Make several patches.", maxPatchedBytes>>20)}
	}
	return nil
}

// apply does to the files in memory what the patch says about one.
func (p *patching) apply(ctx context.Context, fp *filePatch) error {
	from, to, err := p.sides(fp)
	if err != nil {
		return err
	}
	var old string
	if from != nil {
		old = from.content
	}
	content, movedHunks, err := applyHunks(ctx, old, fp.hunks)
	switch {
	case err != nil:
		return err
	case to == nil && content != "":
		return unfit("it removes the file, but not all of the lines that the file has. Read it, or remove it with bash (rm).")
	case len(content) > toolapi.MaxFileBytes:
		return &pathError{toolapi.CodeTooLarge, fmt.Sprintf("%s would have %d bytes and may have %d.", display(fp.name()), len(content), toolapi.MaxFileBytes)}
	}
	if from != nil && from != to && !fp.copied {
		from.there, from.content = false, ""
	}
	if to != nil {
		switch {
		case from != nil:
			to.mode = from.mode
		case fp.executable:
			to.mode = newProgramMode
		}
		to.there, to.content = true, content
	}
	p.tell(fp, from, to, movedHunks)
	return p.take(len(content))
}

// sides are the files before and after; nil means that the patch has none there.
func (p *patching) sides(fp *filePatch) (from, to *patchedFile, err error) {
	if fp.from != "" {
		if from, err = p.file(fp.from); err != nil {
			return nil, nil, err
		}
	}
	if fp.to != "" {
		if to, err = p.file(fp.to); err != nil {
			return nil, nil, err
		}
	}
	switch {
	case from != nil && from == to && !from.there && makesFile(fp):
		return nil, to, nil // It is a new file, of which the patch does not say so in its header.
	case from != nil && !from.there:
		return nil, nil, fs.ErrNotExist
	case to != nil && to != from && to.there:
		return nil, nil, unfit("it makes the file " + display(to.local) + ", which there is already. Change that file, or remove it before.")
	}
	return from, to, nil
}

// makesFile says whether the patch has one hunk that begins with nothing.
func makesFile(fp *filePatch) bool {
	return len(fp.hunks) == 1 && fp.hunks[0].OldPosition == 0 && fp.hunks[0].OldLines == 0
}

// tell adds one file to the report.
func (p *patching) tell(fp *filePatch, from, to *patchedFile, movedHunks []moved) {
	var what, name string
	switch {
	case from == nil:
		what, name = "A", plainName(to.local)
	case to == nil:
		what, name = "D", plainName(from.local)
	case fp.copied:
		what, name = "C", plainName(from.local)+" -> "+plainName(to.local)
	case from != to:
		what, name = "R", plainName(from.local)+" -> "+plainName(to.local)
	default:
		what, name = "M", plainName(to.local)
	}
	added, removed := fp.counts()
	fmt.Fprintf(&p.report, "%s %s +%d -%d\n", what, name, added, removed)
	for _, m := range movedHunks {
		fmt.Fprintf(&p.report, "  hunk %d was not at its own line but at line %d\n", m.number, m.line)
	}
}

// changes are the files that will be other than they were.
func (p *patching) changes() []fileChange {
	var changes []fileChange
	for _, f := range p.order {
		same := f.before != nil && f.content == f.old && f.mode == f.before.Mode().Perm()
		if f.there == (f.before != nil) && (same || !f.there) {
			continue
		}
		changes = append(changes, fileChange{local: f.local, before: f.before, there: f.there, content: f.content, mode: f.mode})
	}
	return changes
}

// patchFailure is the envelope for a patch of which the part about one file cannot be applied.
func (w *workspace) patchFailure(f *filePatch, err error) toolapi.Result {
	var fit *misfit
	var no unfit
	switch {
	case errors.As(err, &fit), errors.As(err, &no):
		return failure(toolapi.CodeNoMatch, "The patch does not fit, and nothing was changed. %s: %v", display(f.name()), err)
	case errors.Is(err, fs.ErrNotExist):
		return failure(toolapi.CodeNotFound, "The patch does not fit, and nothing was changed. There is no file %s to change; "+
			"paths are relative to the workspace. A new file has %s in its \"---\" line.", display(f.from), devNull)
	}
	r := w.fileFailure("patch", f.name(), err)
	r.Output += " Nothing was changed."
	return r
}

// changeFailure is the envelope for changes that could not be made.
func (w *workspace) changeFailure(err error) toolapi.Result {
	var change *changeError
	if !errors.As(err, &change) {
		return w.fileFailure("patch", "the files", err)
	}
	if errors.Is(err, errMeanwhile) {
		r := failure(toolapi.CodeNoMatch, "%s was changed while the patch was applied, by a program in the background.", display(change.local))
		r.Retryable = true
		return change.explain(r)
	}
	return change.explain(w.fileFailure("patch", change.local, change.err))
}

// explain adds to the envelope what became of the files.
func (e *changeError) explain(r toolapi.Result) toolapi.Result {
	if len(e.notUndone) == 0 {
		r.Output += " Nothing was changed."
		return r
	}
	names := make([]string, len(e.notUndone))
	for i, local := range e.notUndone {
		names[i] = display(local)
	}
	r.Output += " The files before it were put back, except " + strings.Join(names, ", ") + ": look at them."
	return r
}
