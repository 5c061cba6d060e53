// SPDX-License-Identifier: Apache-2.0

package slack

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestWhatThePageSaysReachesThePerson(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		page    http.HandlerFunc
		says    string
		refused bool
	}{
		"a refusal": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"error":"You may not."}`)
		}, "You may not.", true},
		"no words":          {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, "status 500", false},
		"more than is read": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", maxPage+1)) }, "more than is read", false},
		"a path that is odd": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprintf(w, `{"error":%q}`, r.URL.EscapedPath())
		}, "/api/runs/..%2Fx/fix", true},
	} {
		_, err := desk{tt.page}.find(t.Context(), "../x", "fix", "u", "a1")
		var r refusal
		if err == nil || !strings.Contains(err.Error(), tt.says) || errors.As(err, &r) != tt.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}
