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

	"motorcortex.dev/motorcortex/internal/motorloop/record"
	"motorcortex.dev/motorcortex/internal/motorloop/result"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// The loop inspects the workspace by calls of its own, which only read. It checks the existence of files and not their content, so they may have any
// size.

// maxClaimed is how many files of a summary are looked for.
const maxClaimed = 16

// claims are the names below artifacts/ in a summary: in quotes, or as a word with an extension. A possible pattern, or a part of a name,
// is no claim.
var (
	claims    = regexp.MustCompile("[`\"']((?:\\./)?artifacts/[^`\"'\\n]{1,300})[`\"']|(?:^|[\\s(])((?:\\./)?artifacts/\\S{1,300})")
	claimWord = regexp.MustCompile(`^(?:\./)?artifacts/(?:[\pL\pN._-]+/)*[\pL\pN_-][\pL\pN._-]*\.[\pL\pN]+$`)
)

// claimedFiles returns the files that the person is to get according to a summary, at most maxClaimed. A summary may mention other names because
// the files are not there.
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

// patternCharacters are those that have a special meaning in the glob tool.
const patternCharacters = `*?[]{}`

// maxLooks is how many times the loop looks if it does not see the end of the call.
const maxLooks = 3

// unseenError reports that the workspace could not be inspected.
type unseenError struct{ file, code string }

func (e *unseenError) Error() string {
	return fmt.Sprintf("it could not be seen whether %q is in the workspace (%s): call finish again", text.Printable(e.file), e.code)
}

// missing returns those of the files that are not there, as the model reads them. id begins the ids of the calls that look.
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
	// The name is a file, or below one.
	parent := path.Dir(path.Clean(file))
	if parent == "." {
		return true, nil
	}
	is, err = r.lists(ctx, id+"-p", parent, file)
	return is == isFolder, err
}

// listing is the kind of a name according to list.
type listing int

const (
	isNothing listing = iota
	isFolder
	isNoFolder
)

// lists returns the kind of a name in the workspace. The error is an *unseenError for file if the kind could not be seen.
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

// saysNothingIsThere reports whether a failed look shows that the file is not there, or not for the programs of the sandbox.
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

// look makes a call of the loop's own. A call that was ended from outside is made again under another id: the sandbox runs an id once.
func (r *run) look(ctx context.Context, id, tool string, args any) (toolapi.Result, error) {
	encoded, err := json.Marshal(args)
	if err != nil {
		return toolapi.Result{}, fmt.Errorf("encode the arguments of %s: %w", tool, err)
	}
	for n := 0; ; n++ {
		if err := r.gate.wait(ctx); err != nil {
			return toolapi.Result{}, err
		}
		waited := r.watch.Wait()
		res, err := r.tools.Call(ctx, toolapi.Call{ID: turn.ExecutionID(id, n), Tool: tool, Arguments: encoded, MaxOutputBytes: record.MinOutputShare})
		waited()
		if err != nil || !result.EndedFromOutside(&res) && !res.Retryable || n == maxLooks-1 {
			return res, err
		}
	}
}
