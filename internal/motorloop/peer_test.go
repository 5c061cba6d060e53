// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// The sandbox reports its capabilities long before it is ready, and gets ready after that.
func TestTheSandboxGetsReadyAfterItSaidWhatItHas(t *testing.T) {
	w := newWorld(t, config.Config{}, nil, says("done"))
	w.loop.Peer = func(context.Context) *toolapi.Peer { return toolapi.Hello{}.Peer() }
	asked := make(chan struct{})
	w.model.fault = func(_ context.Context, where string) error {
		if where == "model: before" {
			close(asked)
		}
		return nil
	}
	w.loop.Ready = func(ctx context.Context) error {
		<-asked // The question to the sandbox is over by now.
		return ctx.Err()
	}
	if out := mustRun(t, w, nil); out.Kind != outcome.Completed {
		t.Errorf("%+v", out)
	}
}

// A sandbox that reports its capabilities late does not change the prompt of the attempt, in this loop and in the next one. A sandbox that
// reported in time is described in every loop.
func TestThePromptStaysWhenTheSandboxIsLate(t *testing.T) {
	t.Parallel()
	environment := &toolapi.Environment{System: "Debian GNU/Linux 13 (trixie), amd64", Programs: []string{"git", "jq"}}
	for name, late := range map[string]bool{"late": true, "in time": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, config.Config{}, nil, says("", bash("one")), says("", question("Which?")), says("done"))
			peer := toolapi.Hello{Tools: catalog.Builtin().Names(), Features: toolapi.Features(), Environment: environment}.Peer()
			asked := 0
			w.loop.Peer = func(context.Context) *toolapi.Peer {
				if asked++; late && asked == 1 {
					return nil
				}
				return peer
			}
			out := mustRun(t, w, nil)
			mustRun(t, w, map[string]string{out.Waiting.ID: "blue"})
			if n := len(w.model.seen); n != 3 {
				t.Fatalf("%d requests", n)
			}
			first := w.model.seen[0].Messages[0].Content
			if strings.Contains(first, environment.System) == late {
				t.Errorf("the first prompt is %s", first)
			}
			for _, r := range w.model.seen[1:] {
				if d := cmp.Diff(first, r.Messages[0].Content); d != "" {
					t.Errorf("the prompt changed: %s", d)
				}
			}
		})
	}
}
