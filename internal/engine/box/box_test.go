// SPDX-License-Identifier: Apache-2.0

package box

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Programs of a sandbox without Landlock can speak for its tool server: none of its text is a note.
func TestASandboxWithoutLandlockHasNoNotes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		unconfined []v1alpha1.MissingWall
		notes      string
	}{
		"confined":                {nil, "[a note]"},
		"without a process limit": {[]v1alpha1.MissingWall{v1alpha1.WithoutProcessLimit}, "[a note]"},
		"without Landlock":        {[]v1alpha1.MissingWall{v1alpha1.WithoutLandlock}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			box, _ := readingBox(t, false)
			said := toolapi.Result{OK: true, Provenance: toolapi.ProvenanceInternal}
			said.SetParts("data\n", "[a note]")
			box.Client = enginetest.ToolsAt(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var answer any = toolapi.Hello{PodUID: "pod", APIVersion: toolapi.APIVersion, Features: toolapi.Features(), Tools: []string{toolapi.ToolBash}}
				if strings.HasPrefix(r.URL.Path, toolapi.PathCalls) {
					answer = said
				}
				_ = json.NewEncoder(w).Encode(answer)
			}))
			s := box.Env.Entries.Sandbox()
			s.PodUID, s.Unconfined = "pod", tt.unconfined
			box.Env.Entries.UseSandbox(s)
			r, err := box.Call(t.Context(), toolapi.Call{ID: "a1-s2-c0", Tool: toolapi.ToolBash, Arguments: []byte(`{"command":"true"}`)})
			if _, notes := r.Parts(); err != nil || r.Output != said.Output || notes != tt.notes {
				t.Errorf("%+v, notes %q, %v", r, notes, err)
			}
		})
	}
}

func TestABoxPrintsNothing(t *testing.T) {
	t.Parallel()
	known, values := enginetest.Secrets()
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x"} {
		text := fmt.Sprintf(format, &Box{WayOut: &WayOut{env: &runenv.Env{Known: known}}})
		for name, value := range values {
			if strings.Contains(text, value) || strings.Contains(text, hex.EncodeToString([]byte(value))) {
				t.Errorf("%s shows %s", format, name)
			}
		}
	}
}
