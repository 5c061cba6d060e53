// SPDX-License-Identifier: Apache-2.0

//go:build linux

package harvest

import (
	"context"
	"errors"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

const saveArtifactUsage = `"path"`

// Tools are the tools of artifacts, by their names.
func (a *Artifacts) Tools() map[string]tool.Tool {
	return map[string]tool.Tool{toolapi.ToolSaveArtifact: {Limit: toolapi.MaxOutputBytes, Run: a.saveTool}}
}

// saveTool records that a file belongs to the result. It copies nothing of it: the content at the end counts.
func (a *Artifacts) saveTool(ctx context.Context, j tool.Job) toolapi.Result {
	var args toolapi.SaveArtifactArgs
	if bad := tool.Decode(j.Args, &args, saveArtifactUsage); bad != nil {
		return *bad
	}
	local, err := a.w.Resolve(args.Path)
	if err != nil {
		return a.w.Failure("save", args.Path, err)
	}
	if !plainPath(local, toolapi.MaxArtifactPath) {
		return tool.Failure(toolapi.CodeInvalidArguments,
			"Cannot save %s: its path has invisible characters or more than %d bytes, so no call could name it. Rename it first.",
			workspace.Display(args.Path), toolapi.MaxArtifactPath)
	}
	if local == toolapi.DiffName {
		return tool.Failure(toolapi.CodeInvalidArguments,
			"Cannot save %s: under that name the changes in the workspace are kept. Rename the file, or copy it into %s/.", workspace.Display(args.Path), toolapi.ArtifactDir)
	}
	ctx, cancel := context.WithTimeout(ctx, tool.FileTimeout)
	defer cancel()
	f, err := a.examine(ctx, local)
	if err == nil {
		err = a.save(local)
	}
	switch {
	case err == nil:
		return tool.Successf("%s belongs to the result. It has %d bytes now, media type %s, sha256 %s. What it holds at the end counts.",
			workspace.Display(local), f.Size, f.MediaType, f.SHA256)
	case ctx.Err() != nil:
		return tool.Interrupted(ctx, "while it read the file")
	case errors.Is(err, ErrLinked):
		return tool.Failure(toolapi.CodeInvalidArguments, "Cannot save %s: there is a symbolic link in its path. Give the path of the file itself.", workspace.Display(args.Path))
	case errors.Is(err, errArtifactTooLarge):
		return tool.Failure(toolapi.CodeTooLarge, "Cannot save %s: it has %d bytes, and a file of the result may have %d MiB. Make it smaller, or split it.",
			workspace.Display(args.Path), f.Size, toolapi.MaxArtifactBytes>>20)
	case errors.Is(err, errSavedFull):
		return tool.Failure(toolapi.CodeTooLarge, "Cannot save %s: %d files are saved, which is the most. Put what belongs together into one file.", workspace.Display(args.Path), maxSaved)
	}
	return a.w.Failure("save", args.Path, err)
}
