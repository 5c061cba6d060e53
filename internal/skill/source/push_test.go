// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/skill"
	skillsource "motorcortex.dev/motorcortex/internal/skill/source"
)

var pushed = []skill.File{
	{Path: "scripts/send.sh", Content: []byte("send"), Executable: true}, {Path: "SKILL.md", Content: []byte(manifest)}, {Path: "assets/logo.png", Content: []byte("\x89\xff\x00")},
}

// dockerConfig has these logins be those of the test's user.
func dockerConfig(t *testing.T, text string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("DOCKER_CONFIG", dir)
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestPushedFilesAreRead(t *testing.T) {
	dockerConfig(t, "{}")
	r := newRegistry(t, nil)
	digest, err := (&skillsource.Pusher{}).Push(t.Context(), r.host+"/team/skill:v1", pushed)
	if err != nil {
		t.Fatal(err)
	}
	for _, reference := range []string{":v1", "@" + digest} {
		got, err := r.read(reference)
		if err != nil {
			t.Fatal(err)
		}
		wantFiles(t, got.Files, map[string]string{"SKILL.md": manifest, "scripts/send.sh": "x send", "assets/logo.png": "\x89\xff\x00"})
		if got.Origin != digest {
			t.Errorf("origin %s, want %s", got.Origin, digest)
		}
	}
	// The same files have the same digest, in whatever order they are given.
	again, err := (&skillsource.Pusher{}).Push(t.Context(), r.host+"/team/skill:v2", []skill.File{pushed[1], pushed[2], pushed[0]})
	if err != nil || again != digest {
		t.Errorf("again: %s, %v, want %s", again, err, digest)
	}
}

func TestPushLogsIn(t *testing.T) {
	r := newRegistry(t, func(w http.ResponseWriter, req *http.Request) bool {
		if user, password, _ := req.BasicAuth(); user == "robot" && password == "hunter2" {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	for name, tt := range map[string]struct{ config, want string }{
		"right":     {`{"auths":{"` + r.host + `":{"auth":"cm9ib3Q6aHVudGVyMg=="}}}`, ""},
		"wrong":     {`{"auths":{"` + r.host + `":{"auth":"cm9ib3Q6aHVudGVyMw=="}}}`, `does not let you write team/skill: log in, as with "docker login ` + r.host},
		"of others": {`{"auths":{"registry.example.org":{"auth":"cm9ib3Q6aHVudGVyMg=="}}}`, "does not let you write team/skill"},
		"broken":    {`{"auths":`, "read the Docker configuration"},
	} {
		t.Run(name, func(t *testing.T) {
			dockerConfig(t, tt.config)
			_, err := (&skillsource.Pusher{}).Push(t.Context(), r.host+"/team/skill:v1", pushed)
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter") {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestPushesThatFail(t *testing.T) {
	dockerConfig(t, "{}")
	fails := newRegistry(t, func(w http.ResponseWriter, _ *http.Request) bool {
		http.Error(w, "hunter2", http.StatusInternalServerError)
		return true
	})
	absent := newRegistry(t, func(w http.ResponseWriter, req *http.Request) bool {
		if req.Method == http.MethodPost {
			http.Error(w, `{"errors":[{"code":"NAME_UNKNOWN"}]}`, http.StatusNotFound)
			return true
		}
		return false
	})
	for name, tt := range map[string]struct{ reference, want string }{
		"no tag":                 {fails.host + "/team/skill", "is not REGISTRY/REPOSITORY:TAG"},
		"a digest":               {fails.host + "/team/skill@sha256:" + strings.Repeat("0", 64), "is not REGISTRY/REPOSITORY:TAG"},
		"a text":                 {"what\x1bever", `"what\x1bever" is not REGISTRY/REPOSITORY:TAG`},
		"a registry in trouble":  {fails.host + "/team/skill:v1", "answers with the status 500"},
		"no such repository":     {absent.host + "/team/skill:v1", "has no repository team/skill"},
		"a registry that is not": {"127.0.0.1:1/team/skill:v1", "push to the registry 127.0.0.1:1: "},
	} {
		_, err := (&skillsource.Pusher{}).Push(t.Context(), tt.reference, pushed)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
}
