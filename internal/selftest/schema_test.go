// SPDX-License-Identifier: Apache-2.0

package selftest

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// schemas returns the schemas of config/crd, as the API server serves them.
func schemas(t *testing.T) map[string]any {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "config", "crd", "bases", "*.yaml"))
	if err != nil || len(files) != len(kinds) {
		t.Fatalf("%d kinds are checked, and there are %q, %v", len(kinds), files, err)
	}
	all := map[string]any{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd struct {
			Spec struct {
				Names    struct{ Kind string }
				Versions []struct {
					Schema struct {
						OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
					}
				}
			}
		}
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatal(err)
		}
		all["dev.motorcortex.v1alpha1."+crd.Spec.Names.Kind] = crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	}
	return all
}

// drop takes the field of that path out of a schema.
func drop(t *testing.T, schema any, path string) {
	t.Helper()
	first, rest, more := strings.Cut(path, ".")
	s, _ := schema.(map[string]any)
	if first == "[]" {
		drop(t, s["items"], rest)
		return
	}
	properties, _ := s["properties"].(map[string]any)
	if properties[first] == nil {
		t.Fatalf("there is no %s", path)
	}
	if more {
		drop(t, properties[first], rest)
		return
	}
	delete(properties, first)
}

func TestSchemaThatIsTooOldIsNamed(t *testing.T) {
	t.Parallel()
	const run = "dev.motorcortex.v1alpha1.MotorRun"
	tests := map[string]struct {
		change func(*testing.T, map[string]any)
		status int
		want   string
	}{
		"this version's":  {func(*testing.T, map[string]any) {}, 200, ""},
		"a field":         {func(t *testing.T, s map[string]any) { drop(t, s[run], "status.paused.observedTime") }, 200, "MotorRun.status.paused.observedTime"},
		"in a list":       {func(t *testing.T, s map[string]any) { drop(t, s[run], "status.attempts.[].failure") }, 200, "MotorRun.status.attempts[].failure"},
		"many":            {func(t *testing.T, s map[string]any) { drop(t, s[run], "status"); drop(t, s[run], "spec") }, 200, "MotorRun.spec, MotorRun.status"},
		"a kind":          {func(_ *testing.T, s map[string]any) { delete(s, "dev.motorcortex.v1alpha1.Skill") }, 200, "lack Skill,"},
		"none":            {func(*testing.T, map[string]any) {}, 404, "install config/crd"},
		"may not be read": {func(*testing.T, map[string]any) {}, 403, ""},
		"cannot be read":  {func(*testing.T, map[string]any) {}, 500, "read the schema"},
		"newer than this": {func(_ *testing.T, s map[string]any) {
			s[run].(map[string]any)["properties"].(map[string]any)["more"] = map[string]any{"type": "string"} //nolint:forcetypeassert // it is what the test read
		}, 200, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := schemas(t)
			tt.change(t, all)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(tt.status)
				_ = json.NewEncoder(w).Encode(map[string]any{"components": map[string]any{"schemas": all}})
			}))
			t.Cleanup(server.Close)
			client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
			if err != nil {
				t.Fatal(err)
			}
			err = Schema(t.Context(), client.Discovery().RESTClient())
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if old := errors.Is(err, ErrOldSchema); old != (tt.want != "" && tt.status == 200) {
				t.Errorf("too old: %t", old)
			}
		})
	}
}
