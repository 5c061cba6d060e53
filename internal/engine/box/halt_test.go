// SPDX-License-Identifier: Apache-2.0

package box

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// haltingSandbox has a remaining connection for so many answers.
func haltingSandbox(t *testing.T, answers int32) *toolclient.Client {
	t.Helper()
	var asked atomic.Int32
	return enginetest.ToolsAt(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == toolapi.PathHello {
			_ = json.NewEncoder(w).Encode(toolapi.Hello{PodUID: "pod", APIVersion: toolapi.APIVersion, Features: toolapi.Features()})
			return
		}
		resp := toolapi.HaltResponse{}
		if asked.Add(1) <= answers {
			resp.All, resp.Connections = 1, []toolapi.Connection{{Network: "tcp", Remote: "192.0.2.7:443", State: "established"}}
		}
		_ = json.NewEncoder(w).Encode(resp)
	}))
}

// A connection from a time without isolation must end within the time of a proof. Then its Pod is abandoned, which ends the connection.
func TestConnectionsThatAreLeftCostTheSandbox(t *testing.T) {
	t.Parallel()
	for answers, kept := range map[int32]bool{0: true, 2: true, 1000: false} {
		now := enginetest.Noon
		env := &runenv.Env{Clock: runenv.Clock{Now: func() time.Time { now = now.Add(3 * time.Second); return now }}, Absence: &runenv.Absence{}}
		box := &Box{Env: env, config: Config{IsolationTimeout: 10 * time.Second}, Client: haltingSandbox(t, answers)}
		err := box.halt(t.Context())
		var f *outcome.Failure
		switch {
		case kept && err != nil:
			t.Errorf("left for %d answers: %v", answers, err)
		case !kept && (!errors.As(err, &f) || f.Reason != outcome.ReasonSandboxLost || !strings.Contains(f.Message, "192.0.2.7:443")):
			t.Errorf("left for %d answers: %v", answers, err)
		}
	}
}

func TestStillConnected(t *testing.T) {
	t.Parallel()
	err := stillConnected(toolapi.HaltResponse{All: 2, Connections: []toolapi.Connection{{Network: "tcp", Remote: "10.0.0.3:9000", State: "fin-wait-1"}}})
	for _, says := range []string{"2 connections", "tcp 10.0.0.3:9000 fin-wait-1"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%q does not say %q", err, says)
		}
	}
}
