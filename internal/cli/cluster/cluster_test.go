// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
)

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: here, cluster: {server: "http://127.0.0.1:1"}}]
contexts:
- {name: plain, context: {cluster: here}}
- {name: team, context: {cluster: here, namespace: team-a}}
- {name: nowhere, context: {cluster: gone}}
current-context: plain
`

func TestConnect(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		args            []string
		namespace, want string
	}{
		"context of the file":          {[]string{"--kubeconfig", file}, "default", ""},
		"context that is named":        {[]string{"--kubeconfig", file, "--context", "team"}, "team-a", ""},
		"namespace that is named":      {[]string{"--kubeconfig", file, "--context", "team", "-n", "team-b"}, "team-b", ""},
		"no such file":                 {[]string{"--kubeconfig", file + "-gone"}, "", "read the kubeconfig: "},
		"no such context":              {[]string{"--kubeconfig", file, "--context", "other"}, "", `context "other" does not exist`},
		"context without its cluster":  {[]string{"--kubeconfig", file, "--context", "nowhere"}, "", "read the kubeconfig: "},
		"file that is no kubeconfig":   {[]string{"--kubeconfig", os.Args[0]}, "", "read the kubeconfig: "},
		"folder in place of that file": {[]string{"--kubeconfig", filepath.Dir(file)}, "", "read the kubeconfig: "},
		"limit that is no time":        {[]string{"--kubeconfig", file, "--request-timeout", "soon"}, "", "Invalid timeout value"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var flags cluster.Flags
			fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
			flags.Bind(fs)
			if err := fs.Parse(tt.args); err != nil {
				t.Fatal(err)
			}
			c, namespace, err := flags.Connect()
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("error %v, want %q in it", err, tt.want)
				}
				return
			}
			if err != nil || c == nil || namespace != tt.namespace {
				t.Errorf("client %v, namespace %q, error %v; want namespace %q", c, namespace, err, tt.namespace)
			}
		})
	}
}

// An administrator tries what another person may do, with the flags of kubectl.
func TestTheFlagsOfKubectlImpersonate(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]rest.ImpersonationConfig{
		"": {},
		"--as dana --as-uid u --as-group team --as-group a,b": {UserName: "dana", UID: "u", Groups: []string{"team", "a,b"}},
	} {
		var flags cluster.Flags
		fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
		flags.Bind(fs)
		if err := fs.Parse(append(strings.Fields(line), "--kubeconfig", file)); err != nil {
			t.Fatal(err)
		}
		config, _, err := flags.Config()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, config.Impersonate, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
}

// A watch has no end of its own, and a limit of requests must not give it one.
func TestRequestsEndAndWatchesGoOn(t *testing.T) {
	t.Parallel()
	const limit = 200 * time.Millisecond
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		discovery, discovers := map[string]string{
			"/api":                           `{"kind":"APIVersions","versions":["v1"]}`,
			"/apis":                          `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"motorcortex.dev","versions":[{"groupVersion":"motorcortex.dev/v1alpha1","version":"v1alpha1"}]}]}`,
			"/apis/motorcortex.dev/v1alpha1": `{"kind":"APIResourceList","groupVersion":"motorcortex.dev/v1alpha1","resources":[{"name":"motorruns","kind":"MotorRun","namespaced":true,"verbs":["get"]}]}`,
		}[r.URL.Path]
		switch {
		case discovers:
			fmt.Fprint(w, discovery)
		case r.URL.Query().Get("watch") != "":
			w.WriteHeader(http.StatusOK)
			http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
			case <-time.After(3 * limit):
				fmt.Fprintln(w, `{"type":"ADDED","object":{"kind":"MotorRun","apiVersion":"motorcortex.dev/v1alpha1","metadata":{"name":"run"}}}`)
			}
		default:
			select {
			case <-r.Context().Done():
			case <-release:
			}
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(release) })
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(kubeconfig, "http://127.0.0.1:1", server.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	var flags cluster.Flags
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags.Bind(fs)
	if err := fs.Parse([]string{"--kubeconfig", file, "--request-timeout", limit.String()}); err != nil {
		t.Fatal(err)
	}
	c, _, err := flags.Connect()
	if err != nil {
		t.Fatal(err)
	}
	if err = c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "run"}, &v1alpha1.MotorRun{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a request ends with %v", err)
	}
	events, err := c.Watch(t.Context(), &v1alpha1.MotorRunList{})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	if e := <-events.ResultChan(); e.Type != watch.Added {
		t.Errorf("the watch ends with %+v", e)
	}
}

// A command that is pasted must be about the same cluster.
func TestSelected(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"":                            "",
		"-n team":                     "",
		"--context prod":              " --context prod",
		"--context eu/a@b:1":          " --context eu/a@b:1",
		"--context $(reboot)'":        ` --context '$(reboot)'\'''`,
		"--kubeconfig /x --context a": " --context a --kubeconfig /x",
		"--as-group b --as dana --as-group c;d --as-uid u": " --as dana --as-uid u --as-group b --as-group 'c;d'",
	} {
		var flags cluster.Flags
		parent, child := &cobra.Command{Use: "p"}, &cobra.Command{Use: "c"}
		parent.AddCommand(child)
		flags.Bind(parent.PersistentFlags())
		if err := child.ParseFlags(strings.Fields(line)); err != nil {
			t.Fatal(err)
		}
		if got := cluster.Selected(child); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	if got := cluster.Selected(&cobra.Command{}); got != "" {
		t.Errorf("without flags: %q", got)
	}
}
