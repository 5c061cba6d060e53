// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/test/eval/internal/task"
	"motorcortex.dev/motorcortex/test/eval/internal/tree"
)

// stage plays a run: each Get gives the next status, and the last one for ever.
type stage struct {
	statuses []string
	patches  []string
	files    tree.Tree
	refuse   bool
}

func (s *stage) Get(_ context.Context, _, _ string, into any) error {
	status := s.statuses[0]
	if len(s.statuses) > 1 {
		s.statuses = s.statuses[1:]
	}
	return json.Unmarshal([]byte(`{"status":`+status+`}`), into)
}

func (s *stage) Patch(_ context.Context, _, _, patchType string, patch any) error {
	text, err := json.Marshal(patch)
	s.patches = append(s.patches, patchType+" "+string(text))
	if s.refuse {
		return errors.New("forbidden")
	}
	if strings.Contains(string(text), "cancel") {
		s.statuses = []string{`{"conditions":[{"type":"Finished","status":"True"},{"type":"Succeeded","status":"False","reason":"Cancelled"}]}`}
	}
	return err
}

func (s *stage) Exec(context.Context, io.Reader, string, string, ...string) ([]byte, error) {
	if s.files == nil {
		return nil, errors.New("no Pod")
	}
	var b bytes.Buffer
	err := s.files.Tar(&b)
	return b.Bytes(), err
}

func subject(t *testing.T) *task.Task {
	t.Helper()
	all, err := task.LoadAll("../../tasks")
	if err != nil || len(all) == 0 {
		t.Fatal(err)
	}
	return all[0]
}

const (
	running = `{"steps":1,"conditions":[{"type":"SandboxReady","status":"True"}],"sandbox":{"podName":"p"}`
	ended   = `{"steps":3,"conditions":[{"type":"Finished","status":"True"},{"type":"Succeeded","status":"True"}]}`
)

func TestThePersonAnswersOnce(t *testing.T) {
	t.Parallel()
	question := running + `,"pendingInputs":[{"id":"q1","kind":"Question","question":"Which?","options":["a","b"]}]}`
	approval := running + `,"pendingInputs":[{"id":"q2","kind":"Approval","question":"May I?","action":{"tool":"bash","arguments":"{}","argsDigest":"sha256:1"}}]}`
	s := &stage{statuses: []string{running + "}", question, question, approval, ended}, files: tree.Tree{"a": []byte("1")}}
	got, err := player{objects: s, task: subject(t), poll: time.Millisecond, within: time.Minute}.play(t.Context())
	if err != nil || len(got.asked) != 2 || got.run.Status.Steps != 3 || string(got.sandbox["a"]) != "1" {
		t.Fatalf("%+v %v", got, err)
	}
	if len(s.patches) != 2 || !strings.Contains(s.patches[0], `"answer":`) || !strings.Contains(s.patches[0], `"id":"q1"`) ||
		!strings.Contains(s.patches[1], `"decision":"Deny"`) || !strings.Contains(s.patches[1], `"digest":"sha256:1"`) {
		t.Errorf("%q", s.patches)
	}
	if text := got.asked[0].Text; text != "Which?\nOptions: a | b" {
		t.Errorf("the question reads %q", text)
	}
}

func TestARunThatDoesNotEndIsCancelled(t *testing.T) {
	t.Parallel()
	s := &stage{statuses: []string{running + "}"}}
	got, err := player{objects: s, task: subject(t), poll: time.Millisecond, within: 5 * time.Millisecond}.play(t.Context())
	if err != nil || len(s.patches) != 1 || got.sandbox != nil {
		t.Errorf("%+v %v %q", got, err, s.patches)
	}
	if claim, _ := claimOf(got.run); claim != task.GaveUp {
		t.Errorf("the claim is %s", claim)
	}
}

func TestAPersonWhoMayNotAnswer(t *testing.T) {
	t.Parallel()
	s := &stage{statuses: []string{running + `,"pendingInputs":[{"id":"q1","kind":"Question","question":"Which?"}]}`}, refuse: true}
	if _, err := (player{objects: s, task: subject(t), poll: time.Millisecond, within: time.Minute}).play(t.Context()); err == nil || !strings.Contains(err.Error(), "forbidden") {
		t.Errorf("%v", err)
	}
}

func TestAnInterruptEndsThePlay(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	s := &stage{statuses: []string{running + "}"}}
	if _, err := (player{objects: s, task: subject(t), poll: time.Millisecond, within: time.Hour}).play(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}
