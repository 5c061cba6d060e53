// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"io/fs"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/request"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

// putPart puts a part of an input file where the whole is collected, and with the last part the whole into the workspace.
// Repeating the part that came last is harmless.
func (s *Server) putPart(r *request.Request, local string, part toolapi.Part, content []byte, also fs.FileMode) (toolapi.File, error) {
	if int64(len(content)) != part.Length() {
		return toolapi.File{}, request.Bad("the part at %d of %d bytes must have %d", part.Offset, part.Size, part.Length())
	}
	whole := toolapi.File{Path: local, Size: part.Size, SHA256: part.SHA256}
	if part.Offset == 0 || part.Last() {
		if same, err := s.workspace.HoldsSum(local, part.Size, part.SHA256); err == nil && same && s.workspace.Permits(local, also) && s.mayStay(local) {
			return whole, nil
		}
	}
	done, err := s.enterForInput(r, local)
	if err != nil {
		return toolapi.File{}, err
	}
	defer done()
	temp := workspace.PartsName(local, part.SHA256)
	err = s.workspace.AddPart(temp, part.Offset, content)
	if err == nil && !part.Last() {
		return toolapi.File{Path: local, Size: part.Offset + part.Length()}, nil
	}
	if err == nil {
		err = s.workspace.FinishParts(temp, local, part, also)
	}
	if err != nil {
		_ = s.workspace.Root.Remove(temp) // It would take space that the workspace may be short of. The returned error is more useful.
		return toolapi.File{}, inputError(local, err)
	}
	return whole, nil
}
