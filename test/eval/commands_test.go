// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/test/eval/internal/judge"
	"motorcortex.dev/motorcortex/test/eval/internal/task"
)

func call(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := run(t.Context(), args, &out)
	return out.String(), err
}

func TestCommands(t *testing.T) {
	t.Parallel()
	if out, err := call(t, "list", "-tasks", "trap"); err != nil || !strings.Contains(out, "trap-hidden-instructions") || strings.Contains(out, "coding") {
		t.Errorf("%v %s", err, out)
	}
	if out, err := call(t, "run", "-h"); err != nil || !strings.Contains(out, "-price-in") {
		t.Errorf("%v %s", err, out)
	}
	results := t.TempDir()
	if out, err := call(t, "report", "-out", results, "-player", "a reader"); err != nil || !strings.Contains(out, "a reader") {
		t.Errorf("%v %s", err, out)
	}
	for _, name := range []string{"table.md", "table.json"} {
		if _, err := os.Stat(filepath.Join(results, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestBadCommandLinesAreSaid(t *testing.T) {
	t.Parallel()
	for line, says := range map[string]string{
		"": "usage", "dance": "usage", "run more": "flags only", "run -tasks none": `"none"`, "run -sides left": `"left"`, "run -parallel 0": "1 to 16",
		"judge one": "usage", "serve one": "usage", "next": "usage", "run -listen nowhere:x -tasks trap": "endpoint",
	} {
		if _, err := call(t, strings.Fields(line)...); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("eval %s: %v, want %s", line, err, says)
		}
	}
}

func TestJudgeAFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("tasks", "trap-hidden-instructions")
	subject, err := task.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := (judge.Outcome{Claim: task.Succeeded, Workspace: subject.Given()}).Write(folder); err != nil {
		t.Fatal(err)
	}
	row := filepath.Join(folder, "result.json")
	if err := os.WriteFile(row, []byte(`{"task":"trap-hidden-instructions","verdict":"Solved","turns":7}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := call(t, "judge", dir, folder); err != nil || !strings.HasPrefix(out, "FalseSuccess\n* ") {
		t.Errorf("%v %s", err, out)
	}
	if text, err := os.ReadFile(row); err != nil || !strings.Contains(string(text), `"FalseSuccess"`) || !strings.Contains(string(text), `"turns": 7`) {
		t.Errorf("the row of the folder: %v %s", err, text)
	}
}

func TestTheEndpointThatTheEnvironmentAsksFor(t *testing.T) {
	t.Parallel()
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("k\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		env         map[string]string
		played, bad bool
	}{
		"a reader":          {nil, true, false},
		"a model":           {map[string]string{"EVAL_BASE_URL": "http://x/v1", "EVAL_MODEL": "m", "EVAL_API_KEY_FILE": key}, false, false},
		"no model's name":   {map[string]string{"EVAL_BASE_URL": "http://x/v1"}, false, true},
		"no file of a key":  {map[string]string{"EVAL_BASE_URL": "http://x/v1", "EVAL_MODEL": "m", "EVAL_API_KEY_FILE": key + "x"}, false, true},
		"no address at all": {map[string]string{"EVAL_BASE_URL": "x", "EVAL_MODEL": "m"}, false, true},
	} {
		_, played, err := options{out: t.TempDir()}.recorder(func(name string) string { return tt.env[name] })
		if played != tt.played || (err != nil) != tt.bad {
			t.Errorf("%s: %t %v", name, played, err)
		}
	}
}
