// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolclient_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// A hostile server's skills are bounded, and never read for longer than requested.
func TestHostileSkills(t *testing.T) {
	answer := func(v any) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == toolapi.PathSkills && r.Method != http.MethodPost {
				w.WriteHeader(http.StatusMethodNotAllowed)
			}
			_ = json.NewEncoder(w).Encode(v)
		}
	}
	for name, handler := range map[string]http.HandlerFunc{
		"too many folders": answer(toolapi.Skills{Folders: make([]toolapi.SkillFolder, toolapi.MaxSkillFolders+1)}),
		"too many files":   answer(toolapi.Skills{Folders: []toolapi.SkillFolder{{}, {Files: make([]toolapi.SkillFile, toolapi.MaxSkillFiles+1)}}}),
		"endless":          func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, endless{}) },
	} {
		_, c := fake(t, handler)
		if list, err := c.Skills(testContext(t), nil); !errors.Is(err, toolclient.ErrBadAnswer) {
			t.Errorf("%s: %d folders, %v", name, len(list.Folders), err)
		}
	}
	most := toolapi.Skills{Folders: make([]toolapi.SkillFolder, toolapi.MaxSkillFolders)}
	for i := range most.Folders {
		most.Folders[i].Files = make([]toolapi.SkillFile, toolapi.MaxSkillFiles)
		for n := range most.Folders[i].Files {
			// Every quote takes two bytes.
			most.Folders[i].Files[n] = toolapi.SkillFile{Path: strings.Repeat("\"", toolapi.MaxSkillPath), Size: toolapi.MaxSkillFileBytes, SHA256: strings.Repeat("0", 64), Executable: true}
		}
	}
	_, c := fake(t, answer(most))
	if list, err := c.Skills(testContext(t), nil); err != nil || len(list.Folders) != toolapi.MaxSkillFolders {
		t.Errorf("as much as there may be: %v", err)
	}
	_, c = fake(t, answer(toolapi.Chunk{Content: make([]byte, toolapi.MaxChunkBytes)}))
	if n, err := c.ReadSkillFile(testContext(t), "SKILL.md", io.Discard, toolapi.MaxSkillFileBytes); !errors.Is(err, toolclient.ErrTooLong) || n != toolapi.MaxSkillFileBytes {
		t.Errorf("%d bytes, %v", n, err)
	}
}
