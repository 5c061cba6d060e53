// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/request"
)

// provenanceOf is that of a tool's result. A tool that reports a result from the web is believed; a tool cannot claim that a result is not
// from the web. Notes come from this server.
func (s *Server) provenanceOf(tool string, r toolapi.Result) toolapi.Provenance {
	if r.NotesOnly() {
		return toolapi.ProvenanceInternal
	}
	if toolapi.AlwaysWeb(tool) || s.taint.Marked() && toolapi.CarriesWeb(tool, r.OK) {
		return toolapi.ProvenanceWeb
	}
	return r.Provenance
}

// takeProvenance notes where an input file came from, before it is put into the workspace.
func (s *Server) takeProvenance(r *request.Request) error {
	switch from := toolapi.Provenance(r.Header.Get(toolapi.HeaderProvenance)); from {
	case "":
		return nil
	case toolapi.ProvenanceWeb:
		return s.taint.Mark()
	default:
		return request.Bad("the header %s may only be %s", toolapi.HeaderProvenance, toolapi.ProvenanceWeb)
	}
}
