// SPDX-License-Identifier: Apache-2.0

//go:build linux

package harvest

import (
	"log/slog"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/program"
	"motorcortex.dev/motorcortex/internal/toolserver/wayout"
)

// git of the first commit receives no variable that is for the programs of calls.
func TestFirstCommitHasNoValues(t *testing.T) {
	s := newSandbox(t)
	log, state, temp := slog.New(slog.DiscardHandler), t.TempDir(), t.TempDir()
	marks, err := wayout.OpenTaint(state)
	ok(t, err)
	way, err := wayout.New(log, temp, temp+"/none", marks)
	ok(t, err)
	programs, err := program.New(program.Config{Log: log, State: state, Temp: temp, SearchPath: "/usr/bin:/bin"}, s.opened, way)
	ok(t, err)
	t.Cleanup(func() {
		programs.Close()
		ok(t, way.Close())
	})
	ok(t, way.Set(toolapi.EgressRequest{Environment: map[string]string{"API_KEY": "a-value-that-is-hidden"}}, func() error { return nil }))
	env, err := firstCommitEnv(programs)
	ok(t, err)
	for _, v := range env {
		if strings.Contains(v, "a-value-that-is-hidden") || strings.Contains(strings.ToLower(v), "proxy") || strings.Contains(v, s.workspace) && !strings.HasPrefix(v, "GIT_DIR=") {
			t.Errorf("it is told %s", v)
		}
	}
}
