// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/test/eval/internal/cluster"
	"motorcortex.dev/motorcortex/test/eval/internal/endpoint"
	"motorcortex.dev/motorcortex/test/eval/internal/report"
	"motorcortex.dev/motorcortex/test/eval/internal/task"

	"net/http/httptest"
)

// play has the bare loop on this machine carry out a task that copies a file, with the answers that were written down.
func bareConfig(t *testing.T, answers ...string) (Config, *task.Task) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "copy-it")
	for name, text := range map[string]string{
		"task.yaml": "title: t\nkind: data\nwhy: w\ninstruction: copy a to b\ntools: [bash]\nturns: 3\nseconds: 60\nchecks:\n- equal: {path: b, to: b, as: text}\n",
		"files/a":   "hello\n", "check/b": "hello\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	subject, err := task.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	played := filepath.Join(out, "standin", modelName(subject, report.Bare))
	if err := os.MkdirAll(played, 0o755); err != nil {
		t.Fatal(err)
	}
	for i, answer := range answers {
		if err := os.WriteFile(filepath.Join(played, []string{"resp-001.json", "resp-002.json"}[i]), []byte(answer), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	recorder := endpoint.NewStandin(filepath.Join(out, "standin"), time.Minute)
	recorder.Token = "a-token"
	server := httptest.NewServer(recorder)
	t.Cleanup(server.Close)
	return Config{Recorder: recorder, LocalURL: server.URL + "/v1", Out: out, Tasks: []*task.Task{subject}, Sides: []report.Side{report.Bare}, Log: io.Discard}, subject
}

func TestTheBareLoopIsJudgedAndNotRunTwice(t *testing.T) {
	t.Parallel()
	c, _ := bareConfig(t, `{"content":null,"tool_calls":[{"name":"bash","arguments":{"command":"cp a b"}}]}`, `{"content":"SUCCEEDED: copied"}`)
	// The second time there is no answer left: it must not be asked.
	for range 2 {
		if err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		rows, err := Rows(c.Out, c.Tasks)
		if err != nil || len(rows) != 1 || rows[0].Verdict != "Solved" || rows[0].Turns != 2 || rows[0].Cacheable == 0 || rows[0].Kept != 1 {
			t.Fatalf("%+v %v", rows, err)
		}
	}
}

func TestAFalseSuccessOfTheBareLoop(t *testing.T) {
	t.Parallel()
	c, _ := bareConfig(t, `{"content":"I will copy it now."}`)
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rows, err := Rows(c.Out, c.Tasks); err != nil || rows[0].Verdict != "FalseSuccess" {
		t.Errorf("%+v %v", rows, err)
	}
}

func TestAnInterruptedTaskHasNoResult(t *testing.T) {
	t.Parallel()
	c, _ := bareConfig(t)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := c.Run(ctx); err == nil {
		t.Error("an interrupt is no end")
	}
	if rows, err := Rows(c.Out, c.Tasks); err != nil || len(rows) != 0 {
		t.Errorf("%+v %v", rows, err)
	}
}

func TestAClusterThatIsMissing(t *testing.T) {
	t.Parallel()
	c, _ := bareConfig(t)
	c.Sides, c.Kubectl = []report.Side{report.Motor}, cluster.Kubectl{Program: filepath.Join(t.TempDir(), "none"), Namespace: "n"}
	if err := c.Run(t.Context()); err == nil {
		t.Error("without kubectl nothing was wrong")
	}
}

func TestTheObjectsOfATask(t *testing.T) {
	t.Parallel()
	_, subject := bareConfig(t)
	subject.Skill, subject.SkillFiles = "greet", subject.Files
	subject.Approval = map[string]any{"bash": map[string]any{"commands": []any{"rm *"}}}
	var kinds []string
	objects := runObjects(subject, "copy-it.motor", 70)
	for _, o := range objects {
		kinds = append(kinds, o["kind"].(string))
	}
	spec := objects[len(objects)-1]["spec"].(cluster.Object)
	if !slices.Equal(kinds, []string{"ConfigMap", "Skill", "MotorRun"}) || len(spec["files"].([]any)) != 1 || spec["skillRef"] == nil || spec["approval"] == nil {
		t.Errorf("%q %v", kinds, spec)
	}
	if limits := spec["limits"].(cluster.Object); limits["activeDeadlineSeconds"] != 70 || limits["maxIterations"] != 3 {
		t.Errorf("%v", limits)
	}
	pod := podObjects(subject, "sandbox:1")
	if len(pod) != 2 || pod[0]["kind"] != "NetworkPolicy" || pod[1]["kind"] != "Pod" {
		t.Errorf("the Pod stands before its wall: %v", pod)
	}
}

func TestReadersHaveMoreTime(t *testing.T) {
	t.Parallel()
	_, subject := bareConfig(t)
	if a, b := (Config{}).seconds(subject), (Config{Played: true}).seconds(subject); a != 60 || b != 60+3*readerSeconds {
		t.Errorf("%d and %d seconds", a, b)
	}
}

func TestCommandsInAPod(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "kubectl")
	script := "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done; shift\nexec \"$@\"\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := podShell{exec: cluster.Kubectl{Program: program}, pod: "p"}.Bash(t.Context(), "echo out; echo err >&2; exit 4")
	if err != nil || !strings.HasPrefix(out, "out\nerr\n") || !strings.Contains(out, "[exit status 4]") {
		t.Errorf("%q %v", out, err)
	}
}
