// SPDX-License-Identifier: Apache-2.0

//go:build linux

package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

const (
	globUsage = `"pattern", and optionally "path"`

	// maxGlobbed is the most paths that one glob returns.
	maxGlobbed = 1000
	// maxGlobWalked is the most entries that one glob looks at, and maxGlobBytes the most bytes of paths that it keeps until
	// they are sorted.
	maxGlobWalked = 100_000
	maxGlobBytes  = 8 << 20
	// maxPattern is in bytes. Each of the alternatives that braces stand for is matched with each path.
	maxPattern      = 1024
	maxAlternatives = 256
)

// errWalkFull ends a walk that has seen as much as it may.
var errWalkFull = errors.New("more entries than are looked at")

// globTool finds paths by a pattern, the ones changed last first.
func (w fileTools) globTool(ctx context.Context, j tool.Job) toolapi.Result {
	var args toolapi.GlobArgs
	if bad := tool.Decode(j.Args, &args, globUsage); bad != nil {
		return *bad
	}
	g, err := w.newGlobber(args)
	if err != nil {
		return w.Failure("search", cmp.Or(args.Path, "."), err)
	}
	ctx, cancel := context.WithTimeout(ctx, tool.FileTimeout)
	defer cancel()
	err = g.folder(ctx, g.base, "")
	if err != nil && ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return tool.Interrupted(ctx, "while it looked for files")
	}
	return tool.Noted(g.result(j.Limit-noteReserve, err == nil))
}

// globber walks the folders in which paths can match. It follows no symbolic links below base.
type globber struct {
	w fileTools
	// base is the folder that the pattern begins in, relative to the workspace.
	base    string
	pattern string
	// depth is how many slashes a path that matches can have, -1 for any number.
	depth       int
	foldersOnly bool
	leaveOut    []string // names of folders
	walked      int
	bytes       int
	partly      bool // a folder has more entries than are read
	found       []globbed
}

// globbed is a path that matches, relative to the workspace.
type globbed struct {
	path    string
	changed time.Time
}

func (w fileTools) newGlobber(args toolapi.GlobArgs) (*globber, error) {
	local, err := w.Resolve(cmp.Or(args.Path, "."))
	if err != nil {
		return nil, err
	}
	switch info, err := w.Root.Stat(local); {
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, syscall.ENOTDIR
	}
	pattern := args.Pattern
	if inside, ok := strings.CutPrefix(pattern, w.Dir+"/"); ok {
		local, pattern = ".", inside
	}
	if err := w.checkPattern(pattern); err != nil {
		return nil, err
	}
	g := &globber{w: w, foldersOnly: strings.HasSuffix(pattern, "/")}
	for _, name := range []string{workspace.GitDir, workspace.OwnDir} {
		if !slices.Contains(patternNames(local+"/"+pattern), name) {
			g.leaveOut = append(g.leaveOut, name)
		}
	}
	// The part before the first special character needs no matching.
	base, rest := doublestar.SplitPattern(path.Clean(pattern))
	g.base, g.pattern = path.Join(local, base), rest
	g.depth = strings.Count(rest, "/")
	if strings.Contains(rest, "**") {
		g.depth = -1
	}
	return g, nil
}

// checkPattern returns an error if a pattern is not valid.
func (w fileTools) checkPattern(pattern string) error {
	switch {
	case pattern == "" || len(pattern) > maxPattern || strings.ContainsRune(pattern, 0):
		return workspace.BadPath(toolapi.CodeInvalidArguments, fmt.Sprintf("A pattern has 1 to %d bytes and no NUL character.", maxPattern))
	case strings.HasPrefix(pattern, "/") || slices.Contains(patternNames(pattern), ".."):
		return workspace.BadPath(toolapi.CodeOutsideWorkspace, fmt.Sprintf(
			`The pattern %s leads out of the workspace %s. Give one that is relative to it, without "..".`, workspace.Display(pattern), w.Dir))
	case !doublestar.ValidatePattern(pattern):
		return workspace.BadPath(toolapi.CodeInvalidArguments, fmt.Sprintf(
			`The pattern %s is not complete: [ needs ], { needs }, and \ a character after it. Put \ before a character that means itself.`, workspace.Display(pattern)))
	case alternatives(pattern) > maxAlternatives:
		return workspace.BadPath(toolapi.CodeInvalidArguments, fmt.Sprintf(
			"The braces of the pattern stand for more than %d patterns. Search several times, with fewer of them.", maxAlternatives))
	}
	return nil
}

// patternNames are the plain names in a pattern.
func patternNames(pattern string) []string {
	return strings.FieldsFunc(pattern, func(r rune) bool { return strings.ContainsRune(`/{},\`, r) })
}

// alternatives is how many patterns the braces of a valid pattern stand for, at most one more than maxAlternatives.
func alternatives(pattern string) int {
	type level struct{ before, here int } // the alternatives of these braces that are complete, and those of the one that is read
	levels := []level{{here: 1}}
	for i := 0; i < len(pattern); i++ {
		top := &levels[len(levels)-1]
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case c == '[':
			i += classLength(pattern[i:]) - 1
		case c == '{':
			levels = append(levels, level{here: 1})
		case c == ',' && len(levels) > 1:
			*top = level{min(top.before+top.here, maxAlternatives+1), 1}
		case c == '}' && len(levels) > 1:
			levels = levels[:len(levels)-1]
			outer := &levels[len(levels)-1]
			outer.here = min(outer.here*(top.before+top.here), maxAlternatives+1)
		}
	}
	return levels[0].here
}

// classLength is the length of the character class that a valid pattern begins with.
func classLength(pattern string) int {
	i := 1
	for i < len(pattern) && pattern[i] != ']' {
		if pattern[i] == '\\' {
			i++
		}
		i++
	}
	return i + 1
}

// folder looks at the entries of the folder local, which is rel to base, "" or with a slash at the end.
func (g *globber) folder(ctx context.Context, local, rel string) error {
	entries, more, err := g.w.ReadFolder(local)
	if err != nil {
		return nil //nolint:nilerr // what is gone or closed to us has no matches
	}
	g.partly = g.partly || more
	for _, e := range entries {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if g.walked++; g.walked > maxGlobWalked || g.bytes > maxGlobBytes {
			return errWalkFull
		}
		name, full := rel+e.Name(), path.Join(local, e.Name())
		if slices.Contains(g.leaveOut, e.Name()) {
			continue
		}
		if (e.IsDir() || !g.foldersOnly) && doublestar.MatchUnvalidated(g.pattern, name) {
			g.add(full, e.IsDir())
		}
		if !e.IsDir() || len(full) > workspace.MaxPathBytes || g.depth >= 0 && strings.Count(name, "/") >= g.depth {
			continue
		}
		if err := g.folder(ctx, full, name+"/"); err != nil {
			return err
		}
	}
	return nil
}

func (g *globber) add(local string, isFolder bool) {
	info, err := g.w.Root.Lstat(local)
	if err != nil {
		return // Gone since the folder was read.
	}
	if isFolder {
		local += "/"
	}
	g.bytes += len(local)
	g.found = append(g.found, globbed{local, info.ModTime()})
}

// result lists the found files in at most room bytes and a note; all is true if the walk covered everything.
func (g *globber) result(room int, all bool) (paths, notes string) {
	slices.SortFunc(g.found, func(a, b globbed) int {
		return cmp.Or(b.changed.Compare(a.changed), strings.Compare(a.path, b.path))
	})
	var b, n strings.Builder
	shown := 0
	for _, f := range g.found[:min(len(g.found), maxGlobbed)] {
		line := plainName(f.path) + "\n"
		if b.Len()+len(line) > room {
			break
		}
		b.WriteString(line)
		shown++
	}
	if len(g.found) == 0 {
		n.WriteString(toolapi.GlobNothing)
	}
	if shown < len(g.found) {
		fmt.Fprintf(&n, "[only the %d that changed last of %d are listed; make the pattern narrower]\n", shown, len(g.found))
	}
	if !all || g.partly {
		fmt.Fprintf(&n, "[not everything was looked at: the workspace has too many entries; give a path, or a pattern that begins with folders]\n")
	}
	return b.String(), n.String()
}
