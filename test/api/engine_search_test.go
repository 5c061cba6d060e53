// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
)

// searchProvider is a stand-in for Brave that finds one page, and shows the key that it was given.
func searchProvider(t *testing.T, namespace string) *v1alpha1.MotorCortex {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"web":{"results":[{"title":"About %s","url":"https://example.org/","description":"key %s"}]}}`,
			r.URL.Query().Get("q"), r.Header.Get("X-Subscription-Token"))
	}))
	t.Cleanup(s.Close)
	return &v1alpha1.MotorCortex{ObjectMeta: meta(namespace, v1alpha1.CortexName), Spec: v1alpha1.MotorCortexSpec{
		Search: &v1alpha1.SearchProvider{Type: v1alpha1.SearchBrave, URL: s.URL, APIKeySecretRef: &v1alpha1.SecretKeyRef{Name: "search", Key: "key"}},
	}}
}

func searches(run *v1alpha1.MotorRun) { run.Spec.Tools = []v1alpha1.ToolName{"bash", "search_web"} }

func TestEngineSearchesWithoutAKey(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("", call("search_web", `{"query":"cortex"}`)), says("done")}}, searches)
	must(t, admin.Create(r.ctx, searchProvider(t, r.run.Namespace)))
	r.startEngine("worker-1", nil)
	res := resultAt(t, r.ended(1), 0, 0)
	if res.ErrorCode != "search_failed" || !strings.Contains(res.Output, "The Secret search with the search provider's API key does not exist") {
		t.Errorf("got %+v", res)
	}
}

func TestEngineOffersNoSearchWithoutAProvider(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("", call("search_web", `{"query":"cortex"}`)), says("done")}}, searches)
	r.startEngine("worker-1", nil)
	if res := resultAt(t, r.ended(1), 0, 0); res.ErrorCode != "tool_not_granted" {
		t.Errorf("got %+v", res)
	}
	if strings.Contains(r.model.lastPrompt(), "search_web") {
		t.Error("the model was told of it")
	}
}

func TestEngineSearches(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{
		says("", call("search_web", `{"query":"cortex"}`), call("bash", `{"command":"echo notes"}`)), says("done"),
	}}, searches)
	must(t, admin.Create(r.ctx, searchProvider(t, r.run.Namespace)))
	must(t, admin.Create(r.ctx, &corev1.Secret{ObjectMeta: meta(r.run.Namespace, "search"), StringData: map[string]string{"key": "search-key-0123456789"}}))
	r.startEngine("worker-1", nil)
	steps := r.ended(1)
	var got []string
	for _, res := range steps[0].Status.Results {
		got = append(got, fmt.Sprintf("%t %s %s", res.OK, res.Provenance, res.Output))
	}
	want := []string{"true Web 1. About cortex\n   https://example.org/\n   key <credential:search-api-key>\n", "true Web notes\n"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
