// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/durable"
	"motorcortex.dev/motorcortex/internal/toolserver/request"
)

// taintFile in the state folder says that there may be something in the sandbox that came in from the web.
const taintFile = "web"

// taint says whether what lies in the sandbox may have come in from the web: there is or was a way out, an input file came
// from there, or a result did. Nobody can tell what of it ended in which file, so it is one mark for all of them, it is on
// disk before anything can come in, and it is never taken back.
type taint struct {
	file string

	mu  sync.Mutex
	set bool
}

func openTaint(state string) (*taint, error) {
	t := &taint{file: filepath.Join(state, taintFile)}
	switch _, err := os.Stat(t.file); {
	case err == nil:
		t.set = true
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("find out whether anything came in from the web: %w", err)
	}
	return t, nil
}

// mark is called before something from the web can come in.
func (t *taint) mark() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.set {
		return nil
	}
	if err := durable.Write(t.file, nil); err != nil {
		return fmt.Errorf("record that something comes in from the web: %w", err)
	}
	t.set = true
	return nil
}

func (t *taint) marked() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.set
}

// provenanceOf is that of a tool's result. A tool that knows that its result came from the web is believed; that it did not
// is not for a tool to say. Notes come from this server.
func (s *Server) provenanceOf(tool string, r toolapi.Result) toolapi.Provenance {
	if r.NotesOnly() {
		return toolapi.ProvenanceInternal
	}
	if toolapi.AlwaysWeb(tool) || s.taint.marked() && toolapi.CarriesWeb(tool, r.OK) {
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
		return s.taint.mark()
	default:
		return request.Bad("the header %s may only be %s", toolapi.HeaderProvenance, toolapi.ProvenanceWeb)
	}
}
