// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestComplete(t *testing.T) {
	type endpoint struct{ BaseURL, Model, Key string }
	required := map[string]string{"SANDBOX_IMAGE": "image:1", "POD_NAMESPACE": "ns"}
	tests := map[string]struct {
		args    []string
		env     map[string]string
		want    endpoint
		worker  string
		refused string
	}{
		"no image":                               {env: map[string]string{"SANDBOX_IMAGE": ""}, refused: "--sandbox-image"},
		"no namespace":                           {env: map[string]string{"POD_NAMESPACE": ""}, refused: "--namespace"},
		"nothing of a model":                     {},
		"a key alone":                            {env: map[string]string{"OPENAI_API_KEY": "k\n", "OPENAI_MODEL": "m"}, want: endpoint{"https://api.openai.com/v1", "m", "k"}},
		"a key of blanks":                        {env: map[string]string{"OPENAI_API_KEY": " \n"}},
		"an endpoint alone":                      {env: map[string]string{"OPENAI_BASE_URL": " http://h/v1\n"}, want: endpoint{BaseURL: "http://h/v1"}},
		"both":                                   {env: map[string]string{"OPENAI_BASE_URL": "http://h/v1", "OPENAI_API_KEY": "k", "OPENAI_MODEL": " m\n"}, want: endpoint{"http://h/v1", "m", "k"}},
		"the flag comes first":                   {args: []string{"--model", "flag"}, env: map[string]string{"OPENAI_MODEL": "env"}, want: endpoint{Model: "flag"}},
		"an archive that nothing could get into": {args: []string{"--archive-wait=29s"}, refused: "--archive-wait is 29s: set it to 30s"},
		"required without a bucket":              {args: []string{"--archive-required"}, refused: "--archive-required needs --archive-bucket"},
		"profiles for the Pod alone":             {args: []string{"--pprof-bind-address=[::1]:6060"}},
		"profiles for others":                    {args: []string{"--pprof-bind-address=:6060"}, refused: "--pprof-bind-address is \":6060\": it must be an address of the loopback"},
		"profiles on the Pod's address":          {args: []string{"--pprof-bind-address=10.0.0.1:6060"}, refused: "--pprof-bind-address"},
		"an unknown audit":                       {args: []string{"--audit-format=cef"}, refused: "--audit-format is \"cef\": it must be none or ocsf"},
		"an audit":                               {args: []string{"--audit-format=ocsf"}},
		"named by its Pod":                       {env: map[string]string{"POD_NAME": "pod-1", "POD_UID": "uid"}, worker: "pod-1-"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, key := range []string{"OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL", "POD_NAME", "POD_UID", "POD_IP"} {
				t.Setenv(key, "")
			}
			for k, v := range required {
				t.Setenv(k, v)
			}
			for k, v := range tt.env {
				t.Setenv(k, v)
			}
			var o options
			fs := flag.NewFlagSet("manager", flag.ContinueOnError)
			o.bind(fs)
			if err := fs.Parse(tt.args); err != nil {
				t.Fatal(err)
			}
			err := o.complete()
			if tt.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tt.refused) {
					t.Errorf("got %v, want %s", err, tt.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, endpoint{o.builtIn.BaseURL, o.builtIn.Model, o.builtIn.APIKey.RevealText()}); diff != "" {
				t.Errorf("model (-want +got):\n%s", diff)
			}
			if !strings.HasPrefix(o.worker, tt.worker) || len(o.worker) > 253 {
				t.Errorf("worker %q", o.worker)
			}
			if o.podUID != tt.env["POD_UID"] || !strings.HasPrefix(o.worker, o.podName+"-") {
				t.Errorf("the Pod of %q is %q, %q", o.worker, o.podName, o.podUID)
			}
			first := o.worker
			if err := o.complete(); err != nil || o.worker == first {
				t.Errorf("a restarted process takes itself for the former one: %q (%v)", o.worker, err)
			}
		})
	}
}

// Without a number the memory and the processors of the container decide how many loops run.
func TestLoopsOfAReplica(t *testing.T) {
	for number, tt := range map[string]struct{ least, most int }{"0": {8, 1 << 20}, "5": {5, 5}, "-1": {}} {
		o := &options{}
		fs := flag.NewFlagSet("manager", flag.ContinueOnError)
		o.bind(fs)
		o.sandboxImage, o.namespace = "i", "n"
		if err := fs.Parse([]string{"--max-loops=" + number}); err != nil {
			t.Fatal(err)
		}
		err := o.complete()
		if (err != nil) != (tt.most == 0) || err == nil && (o.maxLoops < tt.least || o.maxLoops > tt.most || o.loopMemory <= 0) {
			t.Errorf("--max-loops=%s: %d loops in %d bytes, %v", number, o.maxLoops, o.loopMemory, err)
		}
	}
}

func TestNameServers(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want []string
	}{
		"of a Pod":        {"search ns.svc.cluster.local svc.cluster.local\nnameserver 10.96.0.10\noptions ndots:5\n", []string{"10.96.0.10"}},
		"several":         {"nameserver 10.0.0.1\nnameserver\t2001:db8::1 # second\n  nameserver 10.0.0.2", []string{"10.0.0.1", "2001:db8::1", "10.0.0.2"}},
		"none":            {"search example.org\n", nil},
		"commented out":   {"#nameserver 10.0.0.1\n; nameserver 10.0.0.2\n", nil},
		"no address":      {"nameserver\nnameserver dns.example.org\nnameserver 10.0.0.256\n", nil},
		"empty":           {"", nil},
		"another keyword": {"nameservers 10.0.0.1\n", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "resolv.conf")
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, nameServers(path)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	if got := nameServers(filepath.Join(t.TempDir(), "missing")); got != nil {
		t.Errorf("a missing file gives %v", got)
	}
}
