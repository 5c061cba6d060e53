// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolclient_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// A tool server that does not record the initial files is not asked, and the error shows that.
func TestChangesOfAnotherRelease(t *testing.T) {
	t.Parallel()
	without := slices.DeleteFunc(slices.Clone(toolapi.Features()), func(f string) bool { return f == "POST "+toolapi.PathChanges })
	for name, hello := range map[string]toolapi.Hello{"none": {APIVersion: 1}, "the last release": {APIVersion: 1, Features: without}} {
		c, body := release(t, hello)
		if _, err := c.Changes(testContext(t), toolapi.ChangesRequest{TimeoutMs: 1000}); !errors.Is(err, toolclient.ErrUnsupported) || body.Load() != nil {
			t.Errorf("%s: %v; sent %v", name, err, body.Load())
		}
	}
	c, body := release(t, toolapi.Hello{APIVersion: 1, Features: toolapi.Features()})
	if found, err := c.Changes(testContext(t), toolapi.ChangesRequest{Files: []string{"a"}, TimeoutMs: 1000}); err != nil || len(found.Diff) > 0 {
		t.Errorf("%+v, %v; sent %v", found, err, body.Load())
	}
}

// A hostile server's report of changes is bounded, and on one line each.
func TestHostileChanges(t *testing.T) {
	t.Parallel()
	ask := func(handler http.HandlerFunc) (toolapi.Changes, error) {
		_, c := fakeOf(t, toolapi.Features(), handler)
		return c.Changes(testContext(t), toolapi.ChangesRequest{TimeoutMs: 1000})
	}
	answer := func(v toolapi.Changes) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(v) }
	}
	for name, handler := range map[string]http.HandlerFunc{
		"too long":  answer(toolapi.Changes{Diff: make([]byte, toolapi.MaxDiffBytes+1)}),
		"too many":  answer(toolapi.Changes{LeftOut: make([]toolapi.LeftOut, toolapi.MaxLeftOut+1)}),
		"less than": answer(toolapi.Changes{Omitted: -1}),
		"endless":   func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, endless{}) },
	} {
		if found, err := ask(handler); !errors.Is(err, toolclient.ErrBadAnswer) {
			t.Errorf("%s: %d bytes, %v", name, len(found.Diff), err)
		}
	}
	found, err := ask(answer(toolapi.Changes{Diff: make([]byte, toolapi.MaxDiffBytes), LeftOut: []toolapi.LeftOut{{Path: "a\nb\x1b", Why: strings.Repeat("w", 4000)}}}))
	if err != nil || len(found.Diff) != toolapi.MaxDiffBytes || found.LeftOut[0].Path != "a b " || len(found.LeftOut[0].Why) > 200 {
		t.Errorf("%d bytes, %v, %v", len(found.Diff), found.LeftOut, err)
	}
}
