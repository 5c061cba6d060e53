// SPDX-License-Identifier: Apache-2.0

//go:build linux

package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

const (
	listUsage = `optionally "path" and "recursive"`

	// maxListed is the most entries that one list returns.
	maxListed = 1000
)

// errListFull ends a walk that has found more than is shown.
var errListFull = errors.New("more entries than are listed")

// listTool returns the entries of a folder, sorted.
func (w fileTools) listTool(ctx context.Context, j tool.Job) toolapi.Result {
	var args toolapi.ListArgs
	if bad := tool.Decode(j.Args, &args, listUsage); bad != nil {
		return *bad
	}
	if args.Path == "" {
		args.Path = "."
	}
	local, err := w.Resolve(args.Path)
	if err != nil {
		return w.Failure("list", args.Path, err)
	}
	ctx, cancel := context.WithTimeout(ctx, tool.FileTimeout)
	defer cancel()
	l := lister{w: w, room: j.Limit - noteReserve, recursive: args.Recursive}
	switch err := l.folder(ctx, local, ""); {
	case ctx.Err() != nil:
		return tool.Interrupted(ctx, "while it listed the folder")
	case errors.Is(err, errListFull):
		return tool.Noted(l.text.String(), fmt.Sprintf("[there is more: only the first %d entries are listed; list a folder below]", l.entries))
	case err != nil:
		return w.Failure("list", args.Path, err)
	case l.entries == 0:
		return tool.Noted("", "[the folder is empty]")
	}
	return tool.Success(l.text.String())
}

type lister struct {
	w         fileTools
	room      int // bytes
	recursive bool
	text      strings.Builder
	entries   int
}

// folder lists the folder local; shown is its path from where the list began, "" or with a slash at the end.
func (l *lister) folder(ctx context.Context, local, shown string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	entries, more, err := l.w.ReadFolder(local)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if local == "." && (e.Name() == workspace.OwnDir || e.Name() == workspace.GitDir) {
			continue
		}
		line := l.line(local, shown, e)
		if l.entries == maxListed || l.text.Len()+len(line) > l.room {
			return errListFull
		}
		l.text.WriteString(line)
		l.entries++
		if !l.recursive || !e.IsDir() {
			continue
		}
		switch err := l.folder(ctx, path.Join(local, e.Name()), shown+e.Name()+"/"); {
		case errors.Is(err, errListFull), ctx.Err() != nil:
			return err
		case err != nil:
			// One folder that was removed meanwhile or is closed to us must not hide the others.
			fmt.Fprintf(&l.text, "[%s/ cannot be listed]\n", workspace.Display(shown+e.Name()))
		}
	}
	if more {
		return errListFull
	}
	return nil
}

// line shows one entry: "name/", "name  SIZE", or what else it is.
func (l *lister) line(local, shown string, e fs.DirEntry) string {
	name := plainName(shown + e.Name())
	switch {
	case e.IsDir():
		return name + "/\n"
	case e.Type() == fs.ModeSymlink:
		target, err := l.w.Root.Readlink(path.Join(local, e.Name()))
		if err != nil {
			return name + "  symbolic link\n"
		}
		return name + "  symbolic link to " + plainName(target) + "\n"
	case !e.Type().IsRegular():
		return name + "  not a regular file\n"
	}
	info, err := l.w.Root.Lstat(path.Join(local, e.Name()))
	if err != nil {
		return name + "\n" // Gone since the folder was read.
	}
	return name + "  " + strconv.FormatInt(info.Size(), 10) + "\n"
}

// plainName quotes a name that would not be read as the one name that it is.
func plainName(name string) string {
	odd := func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }
	if strings.ContainsFunc(name, odd) || strings.TrimSpace(name) != name {
		return strconv.Quote(name)
	}
	return name
}
