// SPDX-License-Identifier: Apache-2.0

//go:build linux

package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/patch"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

const (
	patchUsage = `"patch", a unified diff or a patch that begins with *** Begin Patch`

	// maxPatchedFiles is how many files one patch may name.
	maxPatchedFiles = 256
	// maxPatchedBytes is the most that these files may have together, before and after, while they are in memory.
	maxPatchedBytes = 16 << 20
	// maxMisfitBytes is how many bytes describe the files that a patch does not fit to. The other such files are only named.
	maxMisfitBytes = 16 << 10

	newFileMode    fs.FileMode = 0o644
	newProgramMode fs.FileMode = 0o755
)

// patchTool applies a patch. Each file is changed in full as the patch requires, or not at all. A file that the patch does not fit to does
// not prevent changes to the others, so that a model has to write only that one again. All changes are computed in memory before the first
// file changes.
func (w fileTools) patchTool(ctx context.Context, j tool.Job) toolapi.Result {
	var args toolapi.PatchArgs
	if bad := tool.Decode(j.Args, &args, patchUsage); bad != nil {
		return *bad
	}
	if strings.ContainsRune(args.Patch, 0) {
		return tool.Failure(toolapi.CodeInvalidArguments, "The patch contains a NUL character, which no text file has, and nothing was changed. Binary files cannot be patched.")
	}
	parts, err := patch.Parse(args.Patch)
	if err != nil {
		return tool.Failure(toolapi.CodeInvalidArguments, "The patch cannot be applied, and nothing was changed. %v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, tool.FileTimeout)
	defer cancel()
	p := patching{w: w}
	changes, err := p.plan(ctx, parts)
	if ctx.Err() != nil {
		return tool.Interrupted(ctx, "while it looked for the places of the hunks; nothing was changed")
	}
	if err != nil {
		return w.Failure("patch", "the files", err)
	}
	for _, c := range changes {
		if c.failed == nil {
			c.make(w)
		}
	}
	return patchResult(changes)
}

// errPatchedBytes is the error of a file that exceeds the total size.
var errPatchedBytes = errors.New("the files of the patch are too large together")

// unfit is a patch that does not fit to the files that there are.
type unfit string

func (u unfit) Error() string { return string(u) }

// patchMisfit is why files are not changed.
type patchMisfit struct {
	code      string
	text      string
	retryable bool
}

// misfitOf describes why a part of a patch cannot be applied.
func (w fileTools) misfitOf(part *patch.File, err error) *patchMisfit {
	var place *patch.Misfit
	var no unfit
	switch {
	case part.Problem != nil:
		return &patchMisfit{code: toolapi.CodeInvalidArguments, text: fmt.Sprintf("%s: %v", workspace.Display(part.Name()), err)}
	case errors.Is(err, errPatchedBytes):
		return &patchMisfit{code: toolapi.CodeTooLarge, text: fmt.Sprintf("%s: with it, the files of the patch have more than %d MiB together. Make several patches.",
			workspace.Display(part.Name()), maxPatchedBytes>>20)}
	case errors.As(err, &place), errors.As(err, &no):
		return &patchMisfit{code: toolapi.CodeNoMatch, text: fmt.Sprintf("%s: %v", workspace.Display(part.Name()), err)}
	case errors.Is(err, fs.ErrNotExist):
		return &patchMisfit{code: toolapi.CodeNotFound, text: fmt.Sprintf("There is no file %s to change; paths are relative to the workspace. "+
			"A new file has %s in its \"---\" line, or is in *** Add File.", workspace.Display(part.From), patch.DevNull)}
	}
	r := w.Failure("patch", part.Name(), err)
	return &patchMisfit{code: r.ErrorCode, text: r.Output, retryable: r.Retryable}
}

// make changes the files, or records why it did not.
func (c *patchChange) make(w fileTools) {
	err := w.changeAll(c.changes())
	var change *changeError
	switch {
	case err == nil:
		return
	case !errors.As(err, &change):
		change = &changeError{local: "the files", err: err}
	}
	c.failed = &patchMisfit{code: toolapi.CodeNoMatch, retryable: true, text: workspace.Display(change.local) +
		" was changed while the patch was applied, by a program in the background."}
	if !errors.Is(err, errMeanwhile) {
		r := w.Failure("patch", change.local, change.err)
		c.failed = &patchMisfit{code: r.ErrorCode, text: r.Output, retryable: r.Retryable}
	}
	if len(change.notUndone) > 0 {
		names := make([]string, len(change.notUndone))
		for i, local := range change.notUndone {
			names[i] = workspace.Display(local)
		}
		c.failed.text += " The files before it were put back, except " + strings.Join(names, ", ") + ": look at them."
		c.spoilt = true
	}
}

// patchResult is the envelope: which files are changed, and which are not and why.
func patchResult(changes []*patchChange) toolapi.Result {
	var done, failed strings.Builder
	var first *patchMisfit
	var untold []string
	spoilt := false
	for _, c := range changes {
		switch {
		case c.failed == nil:
			done.WriteString(c.report.String())
			continue
		case failed.Len() < maxMisfitBytes:
			failed.WriteString(strings.TrimRight(c.failed.text, "\n") + "\n" + c.others())
		default:
			untold = append(untold, c.names()...)
		}
		if first == nil {
			first = c.failed
		}
		spoilt = spoilt || c.spoilt
	}
	refused := tool.Failure
	if first != nil && slices.ContainsFunc(changes, func(c *patchChange) bool { return c.failed != nil && c.failed.code == toolapi.CodeNoMatch }) {
		refused = tool.ForeignFailure // It quotes the file's content.
	}
	if len(untold) > 0 {
		fmt.Fprintf(&failed, "Nor does it fit to: %s\n", strings.Join(untold, ", "))
	}
	switch {
	case first == nil:
		return tool.Success("The patch is applied:\n" + done.String())
	case done.Len() > 0:
		return refused(first.code, "A part of the patch is applied:\n%sNot changed, and to be sent again alone:\n%s", done.String(), failed.String())
	}
	what := "The patch does not fit"
	if first.code == toolapi.CodeInvalidArguments {
		what = "The patch cannot be applied"
	}
	if !spoilt {
		what += ", and nothing was changed"
	}
	r := refused(first.code, "%s. %s", what, failed.String())
	r.Retryable = first.retryable && len(changes) == 1
	return r
}
