// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// The loop looks at the workspace by calls of its own, which only read: files are looked for and not read, so they may have any size.

// maxClaimed is how many files of a summary are looked for.
const maxClaimed = 16

// claims are what a summary names below artifacts/: in quotes, or as a word with an extension. What may be a pattern, or a part of a name,
// is none.
var (
	claims    = regexp.MustCompile("[`\"']((?:\\./)?artifacts/[^`\"'\\n]{1,300})[`\"']|(?:^|[\\s(])((?:\\./)?artifacts/\\S{1,300})")
	claimWord = regexp.MustCompile(`^(?:\./)?artifacts/(?:[\pL\pN._-]+/)*[\pL\pN_-][\pL\pN._-]*\.[\pL\pN]+$`)
)

// claimedFiles are the files that the person is to get by what a summary says, at most maxClaimed. Other names may stand there because the
// files are not there.
func claimedFiles(summary string) []string {
	var files []string
	for _, m := range claims.FindAllStringSubmatch(summary, maxClaimed) {
		file := m[1]
		if word := strings.TrimRight(m[2], ".,;:!?)"); file == "" && claimWord.MatchString(word) {
			file = word
		}
		if file != "" && !strings.ContainsAny(file, patternCharacters) {
			files = append(files, file)
		}
	}
	return files
}

// patternCharacters are those that the glob tool reads as more than themselves.
const patternCharacters = `*?[]{}`

// maxLooks is how many times the loop looks where nobody saw the end of the call.
const maxLooks = 3

// unseenError says that the workspace could not be looked at.
type unseenError struct{ file, code string }

func (e *unseenError) Error() string {
	return fmt.Sprintf("it could not be seen whether %q is in the workspace (%s): call finish again", text.Printable(e.file), e.code)
}

// missing are those of the files that are not there, as the model is told of them. id begins the ids of the calls that look.
func (r *run) missing(
	ctx context.Context, id string, files []string, isThere func(ctx context.Context, id, file string) (bool, error),
) ([]string, error) {
	var missing []string
	for n, file := range slices.Compact(slices.Sorted(slices.Values(files))) {
		there, err := isThere(ctx, fmt.Sprintf("%s%d", id, n), file)
		if err != nil {
			return nil, err
		}
		if !there {
			missing = append(missing, text.Printable(fmt.Sprintf("%q", file)))
		}
	}
	return missing, nil
}

// isThere reports whether the workspace has a file or a folder of that name.
func (r *run) isThere(ctx context.Context, id, file string) (bool, error) {
	is, err := r.lists(ctx, id, file, file)
	if is != isNoFolder || err != nil {
		return is == isFolder, err
	}
	// It is a file, or below one.
	parent := path.Dir(path.Clean(file))
	if parent == "." {
		return true, nil
	}
	is, err = r.lists(ctx, id+"-p", parent, file)
	return is == isFolder, err
}

// What list says of a name.
type listing int

const (
	isNothing listing = iota
	isFolder
	isNoFolder
)

// lists says what a name in the workspace is. The error is an *unseenError for file if that could not be seen.
func (r *run) lists(ctx context.Context, id, name, file string) (listing, error) {
	res, err := r.look(ctx, id, toolapi.ToolList, toolapi.ListArgs{Path: name})
	switch {
	case err != nil:
		return isNothing, err
	case res.OK:
		return isFolder, nil
	}
	switch {
	case res.ErrorCode == toolapi.CodeNotDirectory:
		return isNoFolder, nil
	case saysNothingIsThere(&res):
		return isNothing, nil
	}
	return isNothing, &unseenError{file, res.ErrorCode}
}

// saysNothingIsThere reports whether a failed look shows that what was looked for is not there, or not for the programs of the sandbox.
func saysNothingIsThere(res *toolapi.Result) bool {
	switch res.ErrorCode {
	case toolapi.CodeNotFound, toolapi.CodeNotDirectory, toolapi.CodeOutsideWorkspace, toolapi.CodeInvalidArguments, toolapi.CodePermission:
		return true
	}
	return false
}

// isDemandMet is isThere for a file that may be a pattern. A name with the characters of a pattern counts as itself too.
func (r *run) isDemandMet(ctx context.Context, id, file string) (bool, error) {
	if there, err := r.isThere(ctx, id, file); there || err != nil || !strings.ContainsAny(file, patternCharacters) {
		return there, err
	}
	res, err := r.look(ctx, id+"-g", toolapi.ToolGlob, toolapi.GlobArgs{Pattern: file})
	switch {
	case err != nil:
		return false, err
	case res.OK:
		return !strings.HasPrefix(res.Output, toolapi.GlobNothing), nil
	case saysNothingIsThere(&res):
		return false, nil
	}
	return false, &unseenError{file, res.ErrorCode}
}

// look makes a call of the loop's own. One that was ended from outside is made again under another id: the sandbox runs an id once.
func (r *run) look(ctx context.Context, id, tool string, args any) (toolapi.Result, error) {
	encoded, err := json.Marshal(args)
	if err != nil {
		return toolapi.Result{}, fmt.Errorf("encode the arguments of %s: %w", tool, err)
	}
	for n := 0; ; n++ {
		if err := r.gate.wait(ctx); err != nil {
			return toolapi.Result{}, err
		}
		res, err := r.tools.Call(ctx, toolapi.Call{ID: ExecutionID(id, n), Tool: tool, Arguments: encoded, MaxOutputBytes: minOutputShare})
		if err != nil || !endedFromOutside(&res) && !res.Retryable || n == maxLooks-1 {
			return res, err
		}
	}
}

// endedFromOutside reports whether a call was ended by something other than itself, so that its result says nothing.
func endedFromOutside(res *toolapi.Result) bool {
	return res.ErrorCode == toolapi.CodeOutcomeUnknown || res.ErrorCode == toolapi.CodeCancelled
}
