// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

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
