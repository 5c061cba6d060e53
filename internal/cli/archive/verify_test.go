// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/archive"
	cli "motorcortex.dev/motorcortex/internal/cli/archive"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

// stored is an archive in a folder, and the run that it is of.
type stored struct {
	folder string
	run    *v1alpha1.MotorRun
	data   []byte
}

func store(t *testing.T) stored {
	t.Helper()
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: "run", Namespace: "ns", UID: "uid"}}
	step := &v1alpha1.MotorStep{
		ObjectMeta: metav1.ObjectMeta{Name: "run-a01-s0001", Namespace: "ns", OwnerReferences: []metav1.OwnerReference{{UID: "uid"}}},
		Spec:       v1alpha1.MotorStepSpec{Type: v1alpha1.StepTurn, Attempt: 1, Index: 1, Epoch: 1, Content: "thought"},
	}
	var b bytes.Buffer
	w, err := archive.NewWriter(&b, run)
	if err == nil {
		err = w.Step(step)
	}
	if err != nil {
		t.Fatal(err)
	}
	m, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	s := stored{folder: t.TempDir(), run: run, data: b.Bytes()}
	run.Status.Archive = &v1alpha1.ArchiveStatus{Key: archive.Key(run), Steps: 1, Head: m.Head}
	s.write(t, s.data)
	return s
}

func (s stored) write(t *testing.T, data []byte) {
	t.Helper()
	path := filepath.Join(s.folder, filepath.FromSlash(s.run.Status.Archive.Key))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// run carries out a verb of `kubectl motor archive`.
func run(t *testing.T, s verb.Streams, read cli.ReadRun, args []string) int {
	t.Helper()
	p := verb.Program(s, "kubectl-motor", "kubectl motor", "Test.", cli.New(s, read))
	new(cluster.Flags).Bind(p.PersistentFlags())
	return verb.Run(t.Context(), p, append([]string{"archive"}, args...))
}

func TestVerify(t *testing.T) {
	t.Parallel()
	s := store(t)
	url, key, head := "file://"+s.folder, s.run.Status.Archive.Key, s.run.Status.Archive.Head
	changed := bytes.Replace(s.data, []byte("thought"), []byte("dreamed"), 1)
	bad := store(t)
	bad.write(t, changed)
	otherHead := "sha256:" + strings.Repeat("0", 64)
	const ok = "ok: MotorRun ns/run, 1 steps, head sha256:"
	tests := map[string]struct {
		args     []string
		in       []byte
		code     int
		out, err string
	}{
		"with its head":           {args: []string{url, key, "--head", head}, out: ok},
		"flags first":             {args: []string{"--head=" + head, url, key}, out: ok},
		"without a head":          {args: []string{url, key}, out: ok, err: "note: without --head"},
		"of a run":                {args: []string{url, "--run", "ns/run"}, out: ok},
		"of a run by name":        {args: []string{"--run", "run", url, "-n", "ns"}, out: ok},
		"standard input":          {args: []string{"-", "--head", head}, in: s.data, out: ok},
		"standard input, of run":  {args: []string{"-", "--run", "ns/run"}, in: s.data, out: ok},
		"changed":                 {args: []string{"file://" + bad.folder, key}, code: 1, out: "broken: line 2 (MotorStep run-a01-s0001): its content"},
		"changed, standard input": {args: []string{"-"}, in: changed, code: 1, out: "broken: line 2 (MotorStep run-a01-s0001): its content"},
		"cut":                     {args: []string{"-"}, in: s.data[:len(s.data)-2], code: 1, out: "broken: line 3"},
		"nothing":                 {args: []string{"-"}, code: 1, out: "broken: line 1"},
		"another head":            {args: []string{url, key, "--head", otherHead}, code: 1, out: "written anew"},
		"of another run":          {args: []string{"-", "--run", "ns/other"}, in: s.data, code: 1, out: "broken: the archive holds something else"},
		"no arguments":            {code: 4, err: "Usage:"},
		"no key":                  {args: []string{url}, code: 4, err: "key of the archive is missing"},
		"a key and a run":         {args: []string{url, key, "--run", "ns/run"}, code: 4, err: "too many arguments"},
		"a key and input":         {args: []string{"-", key}, code: 4, err: "too many arguments"},
		"a head and a run":        {args: []string{url, "--head", head, "--run", "ns/run"}, code: 4, err: "--head or --run"},
		"a head that is none":     {args: []string{url, key, "--head", "abc"}, code: 4, err: "64 hexadecimal digits"},
		"an unknown flag":         {args: []string{url, key, "--haed", head}, code: 4, err: "unknown flag: --haed"},
		"a run that is no name":   {args: []string{url, "--run", "a/b/c"}, code: 4, err: "[NAMESPACE/]NAME"},
		"no such run":             {args: []string{url, "--run", "ns/missing"}, code: 5, err: "missing"},
		"a run without archive":   {args: []string{url, "--run", "ns/young"}, code: 5, err: "has no archive"},
		"no such bucket":          {args: []string{"file://" + s.folder + "/none", key}, code: 5, err: "no such file"},
		"no such key":             {args: []string{url, "ns/run/other.jsonl"}, code: 5, err: "does not exist"},
		"help":                    {args: []string{"--help"}, out: "--kubeconfig"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, errs strings.Builder
			if code := run(t, verb.Streams{In: bytes.NewReader(tt.in), Out: &out, Err: &errs}, s.readRun, append([]string{"verify"}, tt.args...)); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if !strings.Contains(out.String(), tt.out) || (tt.out == "") != (out.Len() == 0) {
				t.Errorf("it prints %q, want %q", &out, tt.out)
			}
			if !strings.Contains(errs.String(), tt.err) || (tt.err == "" && errs.Len() > 0 && tt.code != 0) {
				t.Errorf("it complains %q, want %q", &errs, tt.err)
			}
		})
	}
}

// readRun is a cluster with the stored run and two others.
func (s stored) readRun(_ context.Context, _, name string) (*v1alpha1.MotorRun, error) {
	run := s.run.DeepCopy()
	switch name {
	case "run":
	case "other":
		run.Name, run.UID = name, "other-uid"
	case "young":
		run.Name, run.Status.Archive = name, nil
	default:
		return nil, errors.New("the run is missing")
	}
	return run, nil
}

func TestVerbs(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args     []string
		code     int
		out, err string
	}{
		"none":    {nil, 4, "", "Usage:"},
		"unknown": {[]string{"prune"}, 4, "", `no verb "prune"`},
		"help":    {[]string{"--help"}, 0, "Usage:", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, errs strings.Builder
			code := run(t, verb.Streams{Out: &out, Err: &errs}, nil, tt.args)
			if code != tt.code || !strings.Contains(out.String(), tt.out) || !strings.Contains(errs.String(), tt.err) {
				t.Errorf("code %d, prints %q, complains %q", code, &out, &errs)
			}
		})
	}
}
