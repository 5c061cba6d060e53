// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// searchFunc makes a Searcher of a function.
type searchFunc func(ctx context.Context, arguments string) (toolapi.Result, error)

func (f searchFunc) Search(ctx context.Context, arguments string) (toolapi.Result, error) {
	return f(ctx, arguments)
}

func searchWorld(t *testing.T, search searchFunc, answers ...chat.Answer) *world {
	t.Helper()
	w := newWorld(t, config.Config{Tools: []string{toolapi.ToolBash, toolapi.ToolSearchWeb}, Search: true}, nil, answers...)
	w.loop.Search = search
	return w
}

func TestSearchWeb(t *testing.T) {
	t.Parallel()
	var asked []string
	// Its result is from the web, even if it claims otherwise, and later results may be.
	w := searchWorld(t, func(_ context.Context, arguments string) (toolapi.Result, error) {
		asked = append(asked, arguments)
		return toolapi.Result{OK: true, Output: "1. found", Provenance: toolapi.ProvenanceInternal, DurationMs: 7}, nil
	}, says("", call("search_web", `{"query":"q"}`)), says("", bash("cat notes")), says("done"))
	if out := mustRun(t, w, nil); out.Kind != outcome.Completed {
		t.Fatalf("got %+v", out)
	}
	turns := w.journal.load()
	want := &toolapi.Result{OK: true, Output: "1. found", Provenance: toolapi.ProvenanceWeb, DurationMs: 7}
	if diff := cmp.Diff(want, turns[0].Results[0]); diff != "" {
		t.Errorf("the result (-want +got):\n%s", diff)
	}
	if p := turns[1].Results[0].Provenance; p != toolapi.ProvenanceWeb {
		t.Errorf("what a program prints afterwards counts as %s", p)
	}
	if diff := cmp.Diff([]string{`{"query":"q"}`}, asked); diff != "" || len(w.sandbox.executed) != 1 {
		t.Errorf("the sandbox ran %v; asked (-want +got):\n%s", w.sandbox.executedIDs(), diff)
	}
}

func TestSearchWebIsRefused(t *testing.T) {
	t.Parallel()
	never := func(context.Context, string) (toolapi.Result, error) {
		return toolapi.Result{}, errors.New("was asked")
	}
	for name, tt := range map[string]struct {
		change    func(*Loop)
		arguments string
		code      string
	}{
		"nobody carries it out":  {func(l *Loop) { l.Config.Search, l.Search = false, nil }, `{"query":"q"}`, toolapi.CodeToolNotGranted},
		"nobody, unseen":         {func(l *Loop) { l.Search = nil }, `{"query":"q"}`, toolapi.CodeToolNotGranted},
		"not granted":            {func(l *Loop) { l.Config.Tools = []string{toolapi.ToolBash} }, `{"query":"q"}`, toolapi.CodeToolNotGranted},
		"too much to be granted": {func(*Loop) {}, `{"query":"q","limit":21}`, toolapi.CodeInvalidArguments},
		"nothing to look for":    {func(*Loop) {}, `{"query":""}`, toolapi.CodeInvalidArguments},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := searchWorld(t, never, says("", call("search_web", tt.arguments)), says("done"))
			tt.change(w.loop)
			mustRun(t, w, nil)
			if r := w.journal.load()[0].Results[0]; r.OK || r.ErrorCode != tt.code || r.Provenance != toolapi.ProvenanceInternal {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestSearchWebIsOfferedWithAProviderOnly(t *testing.T) {
	t.Parallel()
	for _, provided := range []bool{true, false} {
		cfg := config.Config{Tools: []string{toolapi.ToolSearchWeb}, Search: provided}
		if offered := slices.Contains(cfg.Offered(catalog.Builtin()), toolapi.ToolSearchWeb); offered != provided {
			t.Errorf("with a provider: %t, offered: %t", provided, offered)
		}
	}
}
