// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

func TestConfigIsChecked(t *testing.T) {
	s := stoppedSandbox(t)
	for name, change := range map[string]func(*Config){
		"no Pod UID":                 func(c *Config) { c.PodUID = "" },
		"no keys":                    func(c *Config) { c.ManagerKeys = nil },
		"no workspace":               func(c *Config) { c.Workspace = s.workspace + "/none" },
		"state in the workspace":     func(c *Config) { c.State = s.workspace },
		"workspace around the state": func(c *Config) { c.Workspace = s.workspace + "/.." },
		"temporary files in state":   func(c *Config) { c.TempDir = s.state },
	} {
		config := s.config()
		change(&config)
		if server, err := New(config); err == nil {
			_ = server.Close()
			t.Errorf("%s: accepted", name)
		}
	}
}

// raw sends a request past the client, which would not make it.
func (s *sandbox) raw(method, path, epoch string, body []byte) (int, toolapi.Error) {
	s.t.Helper()
	conn, err := tls.Dial("tcp", s.address, s.tlsConfig())
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	req, err := http.NewRequest(method, "https://"+s.address+"/", bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.URL.Opaque = path // As it is, without any cleaning.
	if epoch != "" {
		req.Header.Set(toolapi.HeaderEpoch, epoch)
	}
	transport := &http.Transport{DialTLSContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil }}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	var e toolapi.Error
	content, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = json.Unmarshal(content, &e)
	}
	if err != nil {
		s.t.Fatalf("%s %s: %q: %v", method, path, content, err)
	}
	return resp.StatusCode, e
}

func TestRequestsAreStrict(t *testing.T) {
	s := newSandbox(t)
	call := func(id, args, more string) []byte {
		return []byte(`{"id":"` + id + `","tool":"bash","arguments":` + args + more + `}`)
	}
	long := `{"command":"` + strings.Repeat("x", toolapi.MaxArgumentsBytes) + `"}`
	for name, test := range map[string]struct {
		method, path, epoch string
		body                []byte
		status              int
		code                string
	}{
		"no epoch":               {"GET", "/v1/hello", "", nil, 400, toolapi.ErrBadRequest},
		"odd epoch":              {"GET", "/v1/hello", "1e3", nil, 400, toolapi.ErrBadRequest},
		"negative epoch":         {"GET", "/v1/hello", "-1", nil, 400, toolapi.ErrBadRequest},
		"huge epoch":             {"GET", "/v1/hello", "99999999999999999999", nil, 400, toolapi.ErrBadRequest},
		"root":                   {"GET", "/", "1", nil, 404, toolapi.ErrUnknownField},
		"unknown path":           {"GET", "/v1/other", "1", nil, 404, toolapi.ErrUnknownField},
		"wrong method":           {"POST", "/v1/hello", "1", nil, 405, toolapi.ErrBadRequest},
		"wrong method of a call": {"DELETE", "/v1/calls/a", "1", nil, 405, toolapi.ErrBadRequest},
		"wrong method of cancel": {"GET", "/v1/calls/a/cancel", "1", nil, 405, toolapi.ErrBadRequest},
		"no id":                  {"GET", "/v1/calls/", "1", nil, 400, toolapi.ErrBadRequest},
		"id with a slash":        {"GET", "/v1/calls/a%2fb", "1", nil, 400, toolapi.ErrBadRequest},
		"id with dots":           {"PUT", "/v1/calls/..", "1", call("..", "{}", ""), 400, toolapi.ErrBadRequest},
		"long id":                {"GET", "/v1/calls/" + strings.Repeat("x", 129), "1", nil, 400, toolapi.ErrBadRequest},
		"no body":                {"PUT", "/v1/calls/a", "1", nil, 400, toolapi.ErrBadRequest},
		"no JSON":                {"PUT", "/v1/calls/a", "1", []byte("x"), 400, toolapi.ErrBadRequest},
		"unknown field":          {"PUT", "/v1/calls/a", "1", call("a", "{}", `,"shell":true`), 422, toolapi.ErrUnknownField},
		"unknown field, probe":   {"POST", "/v1/probe", "1", []byte(`{"targets":[{"name":"a","network":"tcp","address":"127.0.0.1:1","family":6}],"timeoutMs":1}`), 422, toolapi.ErrUnknownField},
		"unknown field, way out": {"PUT", "/v1/egress", "1", []byte(`{"timeoutMs":1,"bound":1}`), 422, toolapi.ErrUnknownField},
		"unknown field, servers": {"PUT", "/v1/mcp", "1", []byte(`{"timeoutMs":1,"servers":[{"name":"a","sandboxed":true}]}`), 422, toolapi.ErrUnknownField},
		"two values":             {"PUT", "/v1/calls/a", "1", append(call("a", "{}", ""), "{}"...), 400, toolapi.ErrBadRequest},
		"another id":             {"PUT", "/v1/calls/a", "1", call("b", "{}", ""), 400, toolapi.ErrBadRequest},
		"no arguments":           {"PUT", "/v1/calls/a", "1", []byte(`{"id":"a","tool":"bash"}`), 400, toolapi.ErrBadRequest},
		"negative limit":         {"PUT", "/v1/calls/a", "1", call("a", "{}", `,"maxOutputBytes":-1`), 400, toolapi.ErrBadRequest},
		"long arguments":         {"PUT", "/v1/calls/a", "1", call("a", long, ""), 413, toolapi.ErrTooLarge},
		"long body":              {"PUT", "/v1/calls/a", "1", make([]byte, 1<<20), 413, toolapi.ErrTooLarge},
		"long file":              {"PUT", "/v1/files/a", "1", make([]byte, toolapi.MaxFileBytes+1), 413, toolapi.ErrTooLarge},
		"file above":             {"PUT", "/v1/files/../x", "1", nil, 400, toolapi.ErrBadRequest},
		"file above, escaped":    {"PUT", "/v1/files/%2e%2e%2fx", "1", nil, 400, toolapi.ErrBadRequest},
		"absolute file":          {"PUT", "/v1/files//etc/x", "1", nil, 400, toolapi.ErrBadRequest},
		"probe of nothing":       {"POST", "/v1/probe", "1", []byte(`{"targets":[],"timeoutMs":100}`), 400, toolapi.ErrBadRequest},
		"probe without time":     {"POST", "/v1/probe", "1", []byte(`{"targets":[{"name":"a","network":"tcp","address":"127.0.0.1:1"}]}`), 400, toolapi.ErrBadRequest},
		"probe for too long":     {"POST", "/v1/probe", "1", []byte(`{"targets":[{"name":"a","network":"tcp","address":"127.0.0.1:1"}],"timeoutMs":5001}`), 400, toolapi.ErrBadRequest},
		"probe of a name":        {"POST", "/v1/probe", "1", []byte(`{"targets":[{"name":"a","network":"tcp","address":"localhost:1"}],"timeoutMs":1}`), 400, toolapi.ErrBadRequest},
		"probe of a socket":      {"POST", "/v1/probe", "1", []byte(`{"targets":[{"name":"a","network":"unix","address":"127.0.0.1:1"}],"timeoutMs":1}`), 400, toolapi.ErrBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			status, e := s.raw(test.method, test.path, test.epoch, test.body)
			if status != test.status || e.Code != test.code || e.Message == "" {
				t.Errorf("%d %+v, want %d %s", status, e, test.status, test.code)
			}
		})
	}
	if s.server.ledger.Used() {
		t.Error("a refused request is in the ledger")
	}
}

func TestLargestArguments(t *testing.T) {
	s := newSandbox(t)
	args := toolapi.WriteArgs{Path: "big"}
	overhead := len(newCallOf(t, "x", toolapi.ToolWrite, args).Arguments)
	args.Content = strings.Repeat("x", toolapi.MaxArgumentsBytes-overhead)
	if r := s.run(toolapi.ToolWrite, args); !r.OK || len(s.content("big")) != len(args.Content) {
		t.Errorf("%+v", r)
	}
}

func TestRequestThatPanicsIsAnError(t *testing.T) {
	s := newSandbox(t)
	s.server.workspace.Root = nil // Any internal error.
	defer func() { s.server.workspace.Root, _ = os.OpenRoot(s.workspace) }()
	status, e := s.raw("PUT", "/v1/files/x", "1", []byte("x"))
	if status != 500 || e.Code != toolapi.ErrInternal {
		t.Errorf("%d %+v", status, e)
	}
}

func TestHello(t *testing.T) {
	s := newSandbox(t)
	h, err := s.client(7).Hello(testContext(t))
	if err != nil || h.PodUID != podUID || h.Epoch != 7 || strings.Join(h.Tools, " ") != "bash code edit fetch glob grep install list oneshot oneshot_network patch read save_artifact write" {
		t.Errorf("%+v %v", h, err)
	}
}

// The tests must notice a change of the text that os.Root uses for a path that leads out.
func TestEscapeIsRecognised(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	_, openErr := root.Open("../x")
	if !workspace.Escapes(openErr) || !workspace.Escapes(root.Rename("a", "../x")) || !workspace.Escapes(root.MkdirAll("../x", 0o755)) || workspace.Escapes(errors.New("x")) || workspace.Escapes(nil) {
		t.Errorf("%v", openErr)
	}
}

// A server reports what it supports, and serves each request that it reports.
func TestHelloSaysWhatIsKnown(t *testing.T) {
	s := newSandbox(t)
	hello, err := s.client(1).Hello(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(toolapi.Features(), hello.Features); diff != "" || hello.APIVersion != toolapi.APIVersion {
		t.Errorf("version %d, features: %s", hello.APIVersion, diff)
	}
	for _, f := range hello.Features {
		method, path, ok := strings.Cut(f, " ")
		if !ok {
			continue
		}
		if strings.HasSuffix(path, "/") || f == "GET "+toolapi.PathSkills {
			path = strings.TrimSuffix(path, "/") + "/"

			path += "a"
		}
		if method == "POST" && strings.HasPrefix(path, toolapi.PathCalls) {
			path += "/cancel"
		}
		if _, err := s.server.route(httptest.NewRequest(method, path, nil)); err != nil {
			t.Errorf("%s: %v", f, err)
		}
	}
	peer := hello.Peer()
	for name := range s.server.tools {
		if !peer.HasTool(name) || !slices.ContainsFunc(hello.Features, func(f string) bool { return strings.HasPrefix(f, name+".") }) {
			t.Errorf("the tool %s, or its arguments, are not named", name)
		}
	}
}
