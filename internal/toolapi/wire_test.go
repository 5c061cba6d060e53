// SPDX-License-Identifier: Apache-2.0

package toolapi

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each field of a request has a name, and a plain shape that Encode can narrow.
func TestRequestsCanBeNarrowed(t *testing.T) {
	t.Parallel()
	for _, r := range requests {
		for _, name := range fieldsOf(r) {
			if _, field, _ := strings.Cut(name, "."); field == "" || field == "-" {
				t.Errorf("%s has a field without a name in JSON", r)
			}
		}
		for f := range r.Fields() {
			if k := f.Type.Kind(); k == reflect.Pointer || k == reflect.Struct {
				t.Errorf("%s.%s is a %s: Encode leaves out none of its fields", r, f.Name, k)
			}
		}
	}
}

// peerWithout is a server of this build without some features.
func peerWithout(lacks ...string) *Peer {
	h := Hello{Tools: []string{ToolBash, ToolRead}}
	for _, f := range Features() {
		if !slices.Contains(lacks, f) {
			h.Features = append(h.Features, f)
		}
	}
	return h.Peer()
}

func TestEncodeForAnotherRelease(t *testing.T) {
	t.Parallel()
	servers := MCPRequest{TimeoutMs: 5, Servers: []MCPServer{{Name: "a", URL: "https://x", Tools: []string{"<t>"}}, {Name: "b", Command: []string{"c"}}}}
	for name, tt := range map[string]struct {
		peer    *Peer
		request any
		want    string
		missing []string
	}{
		"not known yet":       {nil, ProbeRequest{TimeoutMs: 5}, `{"targets":null,"timeoutMs":5}`, nil},
		"the same release":    {peerWithout(), Call{ID: "a", Tool: "bash", Arguments: json.RawMessage(`{"a":"<"}`)}, `{"id":"a","tool":"bash","arguments":{"a":"<"}}`, nil},
		"no features":         {Hello{}.Peer(), ProbeRequest{TimeoutMs: 5}, "", []string{"ProbeRequest.timeoutMs"}},
		"a field that is set": {peerWithout("Call.idempotencyKey"), Call{ID: "a", IdempotencyKey: "k"}, "", []string{"Call.idempotencyKey"}},
		"a field that is not": {
			peerWithout("Call.idempotencyKey", "Call.maxOutputBytes"), Call{ID: "a", Tool: "b", Arguments: json.RawMessage(`["<"]`)},
			`{"arguments":["<"],"id":"a","tool":"b"}`, nil,
		},
		"a field that may be left out": {Hello{}.Peer(), ListSkills{Own: []string{"a"}}, `{}`, nil},
		"a field of an item":           {peerWithout("MCPServer.command"), servers, "", []string{"MCPServer.command"}},
		"a zero of an item": {
			peerWithout("MCPServer.authorization"), servers,
			`{"servers":[{"name":"a","tools":["<t>"],"url":"https://x"},{"command":["c"],"name":"b","tools":null}],"timeoutMs":5}`, nil,
		},
	} {
		got, missing, err := tt.peer.Encode(tt.request)
		if strings.TrimSpace(string(got)) != tt.want || !slices.Equal(missing, tt.missing) || err != nil {
			t.Errorf("%s: %s, missing %q, %v; want %s, %q", name, got, missing, err, tt.want, tt.missing)
		}
	}
}

func TestPeerLacks(t *testing.T) {
	t.Parallel()
	p := peerWithout("bash.background", "bash.timeoutSeconds")
	for args, want := range map[string][]string{
		`{"command":"x"}`: nil,
		`{"command":"x","background":false,"timeoutSeconds":1}`: {"timeoutSeconds", "background"},
		`{"command":"x","nonsense":1}`:                          nil,
		`no JSON`:                                               nil,
	} {
		if diff := cmp.Diff(want, p.Lacks(ToolBash, json.RawMessage(args))); diff != "" {
			t.Errorf("%s: %s", args, diff)
		}
	}
	if p.HasTool(ToolGrep) || !p.HasTool(ToolBash) || !p.HasTool(ToolAskUser) || !p.HasTool("mcp__a__b") {
		t.Error("tools of the sandbox are those that it names, and the others are not its affair")
	}
	p = peerWithout("GET /v1/artifacts", "PUT /v1/egress")
	for request, want := range map[string]bool{
		"GET /v1/artifacts": false, "GET /v1/artifacts/a/b": false, "GET /v1/artifacts2": true, "PUT /v1/egress": false, "GET /v1/calls/a": true, "POST /v1/later": true,
	} {
		if method, path, _ := strings.Cut(request, " "); p.Serves(method, path) != want {
			t.Errorf("%s: served is %t, want %t", request, !want, want)
		}
	}
	if reads := (Hello{Features: []string{"GET " + PathBackground}}).Peer(); !reads.Serves("GET", PathBackground) || reads.Serves("POST", PathBackground) {
		t.Error("a request is another one under another method")
	}
	var unknown *Peer
	if !unknown.HasTool(ToolGrep) || unknown.Lacks(ToolBash, json.RawMessage(`{"background":true}`)) != nil || !unknown.Knows("anything") {
		t.Error("of a sandbox that is not known yet something is said to be missing")
	}
}
