// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package files has the tools that read, find and change files of the workspace. They start no program, and go through the workspace's
// os.Root alone.
package files

import (
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

// fileTools are the tools that read and change files of the workspace.
type fileTools struct{ *workspace.Workspace }

// Tools are the tools that read and change files of a workspace, by their names.
func Tools(w *workspace.Workspace) map[string]tool.Tool {
	t := fileTools{w}
	return map[string]tool.Tool{
		toolapi.ToolRead:  {Limit: toolapi.MaxOutputBytes, Run: t.readTool},
		toolapi.ToolWrite: {Alone: true, Limit: toolapi.MaxOutputBytes, Run: t.writeTool},
		toolapi.ToolEdit:  {Alone: true, Limit: toolapi.MaxOutputBytes, Run: t.editTool},
		toolapi.ToolPatch: {Alone: true, Limit: toolapi.MaxOutputBytes, Run: t.patchTool},
		toolapi.ToolList:  {Limit: toolapi.MaxOutputBytes, Run: t.listTool},
		toolapi.ToolGlob:  {Limit: toolapi.MaxOutputBytes, Run: t.globTool},
	}
}
