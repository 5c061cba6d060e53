// SPDX-License-Identifier: Apache-2.0

//go:build linux

package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

const writeUsage = `"path" and "content", and optionally "append"`

// writeTool replaces a file or adds to its end.
func (w fileTools) writeTool(_ context.Context, j tool.Job) toolapi.Result {
	var args toolapi.WriteArgs
	if bad := tool.Decode(j.Args, &args, writeUsage); bad != nil {
		return *bad
	}
	if len(args.Content) > toolapi.MaxFileBytes {
		return tool.Failure(toolapi.CodeTooLarge, "The content has %d bytes and one write may have %d. Write it in parts with append.",
			len(args.Content), toolapi.MaxFileBytes)
	}
	local, err := w.Resolve(args.Path)
	if err == nil && (local == "." || strings.HasSuffix(args.Path, "/")) {
		err = syscall.EISDIR
	}
	if err == nil {
		if args.Append {
			err = w.appendTo(local, args.Content)
		} else {
			err = w.Replace(local, strings.NewReader(args.Content))
		}
	}
	if err != nil {
		return w.Failure("write", args.Path, err)
	}
	verb := "wrote"
	if args.Append {
		verb = "appended"
	}
	return tool.Successf("%s %d bytes to %s", verb, len(args.Content), workspace.Display(local))
}

// appendTo adds content to the end of a file, all of it or nothing.
func (w fileTools) appendTo(local, content string) (err error) {
	if err := w.Root.MkdirAll(path.Dir(local), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	file, info, err := w.OpenFile(local, os.O_WRONLY|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := file.Close(); err == nil {
			err = closeErr
		}
	}()
	if _, err = file.WriteString(content); err != nil {
		// Half of the content would look like success to a reader of the file, and a second try would double it.
		return errors.Join(err, file.Truncate(info.Size()))
	}
	return file.Sync()
}
