// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/request"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

// getArtifact reads a part of a file that belongs to the result.
func (s *Server) getArtifact(r *request.Request, name string) (any, error) {
	return s.getPart(r, name, s.artifacts.Has, toolapi.MaxArtifactBytes)
}

// getPart reads a part of a file that may be asked for, if it has no more bytes than most. It never waits.
func (s *Server) getPart(r *request.Request, name string, has func(local string) bool, most int64) (any, error) {
	offset, err := strconv.ParseInt(cmp.Or(r.URL.Query().Get("offset"), "0"), 10, 64)
	if err != nil || offset < 0 {
		return nil, request.Bad("the offset must be a decimal number from 0")
	}
	local, err := s.workspace.Resolve(name)
	if err != nil {
		return nil, request.Bad("%v", err)
	}
	if !has(local) {
		return nil, request.Refuse(http.StatusNotFound, toolapi.ErrNotFound, workspace.Display(name)+" does not belong to the result")
	}
	file, info, err := s.artifacts.Open(local)
	if err != nil {
		return nil, readError(name, err)
	}
	defer file.Close()
	if info.Size() > most {
		return nil, request.Refuse(http.StatusRequestEntityTooLarge, toolapi.ErrTooLarge, fmt.Sprintf("a file of the result may have %d bytes", most))
	}
	content, err := io.ReadAll(io.NewSectionReader(file, offset, toolapi.MaxChunkBytes))
	if err != nil {
		return nil, readError(name, err)
	}
	return toolapi.Chunk{Content: content, Size: info.Size()}, nil
}
