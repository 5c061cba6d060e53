// SPDX-License-Identifier: Apache-2.0

//go:build linux

package program

import (
	"cmp"
	"context"
	"os"
	"strconv"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

const (
	grepUsage   = `"pattern", and optionally "path", "glob", "ignoreCase", "literal", "context" and "output"`
	grepProgram = "rg"
	grepTimeout = 60 * time.Second

	// maxGrepContext is the most lines before and after a match.
	maxGrepContext = 20
	// maxGrepColumns is the most bytes of a line that are shown.
	maxGrepColumns = 400

	grepNothing = "[no matches]\n"
)

// grep searches the contents of files with ripgrep.
func (p *Runner) grep(ctx context.Context, j tool.Job) toolapi.Result {
	var args toolapi.GrepArgs
	if bad := tool.Decode(j.Args, &args, grepUsage); bad != nil {
		return *bad
	}
	options, bad := grepOptions(args)
	if bad != nil {
		return *bad
	}
	local, err := searchable(p.Workspace, cmp.Or(args.Path, "."))
	if err != nil {
		return p.Workspace.Failure("search", args.Path, err)
	}
	if _, err := p.Find(grepProgram); err != nil {
		return tool.Failure(toolapi.CodeNotFound, "The program rg (ripgrep) is not in this sandbox's image, so nothing can be searched for like this.")
	}
	if local != "." { // Without a path, paths are shown without "./" before them.
		options = append(options, "--", local)
	}
	return grepResult(p.run(ctx, j, Program{Name: grepProgram, Args: options, Timeout: grepTimeout}))
}

// grepOptions are the arguments for ripgrep, except for the path. They depend on nothing else, so ripgrep's output is the same each time.
func grepOptions(args toolapi.GrepArgs) ([]string, *toolapi.Result) {
	var bad toolapi.Result
	switch {
	case args.Pattern == "":
		bad = tool.Failure(toolapi.CodeInvalidArguments, "The pattern is empty. Give what to search for.")
	case strings.ContainsRune(args.Pattern+args.Glob, 0):
		bad = tool.Failure(toolapi.CodeInvalidArguments, invalidNULInArg, "The pattern")
	case args.Context < 0 || args.Context > maxGrepContext:
		bad = tool.Failure(toolapi.CodeInvalidArguments, "context is %d and may be 0 to %d.", args.Context, maxGrepContext)
	}
	options := []string{
		"--no-config", "--color=never", "--no-heading", "--with-filename", "--sort=path",
		"--no-messages", // A file that is gone or closed to us is no failure of the search.
	}
	switch args.Output {
	case "", toolapi.GrepContent:
		options = append(options, "--line-number", "--max-columns="+strconv.Itoa(maxGrepColumns), "--max-columns-preview",
			"--context="+strconv.Itoa(int(args.Context)))
	case toolapi.GrepFiles:
		options = append(options, "--files-with-matches")
	case toolapi.GrepCount:
		options = append(options, "--count")
	default:
		bad = tool.Failure(toolapi.CodeInvalidArguments, "The output %q is not known. It is %s, %s or %s.",
			plaintext.Bound(args.Output, 64), toolapi.GrepContent, toolapi.GrepFiles, toolapi.GrepCount)
	}
	if bad.ErrorCode != "" {
		return nil, &bad
	}
	if args.IgnoreCase {
		options = append(options, "--ignore-case")
	}
	if args.Literal {
		options = append(options, "--fixed-strings")
	}
	if args.Glob != "" {
		options = append(options, "--glob="+args.Glob)
	}
	return append(options, "--regexp="+args.Pattern), nil
}

// searchable is the name for os.Root of a file or folder of the workspace. Files that a program could read by itself are no secret to it;
// the check is for clear answers, and because ripgrep would block on a pipe.
func searchable(w *workspace.Workspace, name string) (string, error) {
	local, err := w.Resolve(name)
	if err != nil {
		return "", err
	}
	file, _, err := w.OpenFile(local, os.O_RDONLY)
	if err != nil {
		return "", err
	}
	return local, file.Close()
}

// badPattern reports whether ripgrep rejects a pattern or a glob, and returns its message. Versions before 14 print it without the name of
// the program.
func badPattern(said string) (message string, ok bool) {
	message, named := strings.CutPrefix(said, grepProgram+": ")
	return message, named || strings.HasPrefix(said, "regex parse error:") || strings.HasPrefix(said, "error parsing glob ")
}

// grepResult makes the result of a search from that of the program. Its status is 1 if nothing was found, and 2 after an error: with the
// pattern, which ripgrep names, or with a file, which it does not name.
func grepResult(r toolapi.Result) toolapi.Result {
	switch r.ErrorCode {
	case "exit_1":
		return tool.Noted("", grepNothing)
	case "exit_2":
		found, notes := r.Parts()
		if message, ok := badPattern(found); ok {
			return tool.Failure(toolapi.CodeInvalidArguments, "ripgrep cannot search for this: %s", message)
		}
		r.OK, r.ErrorCode = true, ""
		if found == "" {
			notes += grepNothing
		}
		r.SetParts(found, notes+"[some files could not be read]\n")
	case toolapi.CodeTimeout:
		found, notes := r.Parts()
		if i := strings.Index(notes, timeoutNote); i >= 0 {
			notes = notes[:i]
		}
		r.SetParts(found, notes+"[the search was ended after 60 seconds; give a path or a glob, or search for less]\n")
	}
	return r
}
