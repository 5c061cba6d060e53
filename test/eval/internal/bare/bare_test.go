// SPDX-License-Identifier: Apache-2.0

package bare

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/test/eval/internal/confine"
	"motorcortex.dev/motorcortex/test/eval/internal/task"
)

// script answers with its messages, one after the other, and keeps the last conversation.
type script struct {
	answers []Message
	last    []Message
}

func (s *script) Answer(_ context.Context, messages []Message, _ json.RawMessage) (Message, error) {
	s.last = messages
	if len(s.answers) == 0 {
		return Message{}, errors.New("the script is over")
	}
	next := s.answers[0]
	s.answers = s.answers[1:]
	return next, nil
}

func call(name, arguments string) Message {
	c := Call{ID: "c1", Type: "function"}
	c.Function.Name, c.Function.Arguments = name, arguments
	return Message{Role: "assistant", ToolCalls: []Call{c}}
}

func TestTheLoop(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	model := &script{answers: []Message{
		call("bash", `{"command":"echo hello > a.txt; cat a.txt; exit 3"}`), call("edit", `{}`), say("assistant", "PARTIAL: half of it"),
	}}
	got, err := Run(t.Context(), model, Local{dir}, "do it", 5)
	if err != nil || got.Claim != task.Partial || got.Turns != 3 {
		t.Fatalf("%+v %v", got, err)
	}
	if content, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(content) != "hello\n" {
		t.Errorf("%q %v", content, err)
	}
	if out := *model.last[3].Content; out != "hello\n\n[exit status 3]" || model.last[3].ToolCallID != "c1" {
		t.Errorf("the result is %q", out)
	}
	if out := *model.last[5].Content; !strings.Contains(out, "only tool is bash") {
		t.Errorf("another tool gives %q", out)
	}
}

func TestTheLoopEnds(t *testing.T) {
	t.Parallel()
	more := call("bash", `{"command":"true"}`)
	got, err := Run(t.Context(), &script{answers: []Message{more, more, more}}, Local{t.TempDir()}, "do it", 2)
	if err != nil || got.Claim != task.GaveUp || got.Turns != 2 {
		t.Errorf("out of answers: %+v %v", got, err)
	}
	if _, err := Run(t.Context(), &script{}, Local{t.TempDir()}, "do it", 2); err == nil {
		t.Error("a model that fails is no end")
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := Run(over, &script{answers: []Message{more}}, Local{t.TempDir()}, "do it", 2); err != nil || got.Claim != task.GaveUp {
		t.Errorf("out of time: %+v %v", got, err)
	}
}

func TestClaims(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]task.Claim{
		"SUCCEEDED: all": task.Succeeded, "**Failed** — no": task.Failed, " partial\n": task.Partial, "Done.": task.Succeeded, "": task.Succeeded,
		"Nothing failed": task.Succeeded, "Failedly": task.Succeeded,
	} {
		if got := ClaimOf(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func TestTheModelIsAskedAgain(t *testing.T) {
	t.Parallel()
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch asked++; {
		case strings.Contains(string(body), "refuse"):
			w.WriteHeader(http.StatusBadRequest)
		case asked == 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case asked == 2:
			_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"there"}}]}`)
		default:
			_, _ = io.WriteString(w, `{"choices":[]}`)
		}
	}))
	t.Cleanup(server.Close)
	c := Chat{URL: server.URL, Model: "m", Pause: time.Millisecond}
	if got, err := c.Answer(t.Context(), []Message{say("user", "x")}, tools); err != nil || *got.Content != "there" || asked != 2 {
		t.Errorf("%+v %v after %d", got, err, asked)
	}
	for _, text := range []string{"refuse", "nothing"} {
		if _, err := c.Answer(t.Context(), []Message{say("user", text)}, tools); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestWhatIsShown(t *testing.T) {
	t.Parallel()
	if got, err := Shown("a", confine.ErrTimeout); err != nil || !strings.Contains(got, "ended after") {
		t.Errorf("%q %v", got, err)
	}
	if got, err := Shown(strings.Repeat("x", 2*maxShown), nil); err != nil || len(got) > maxShown+100 || !strings.Contains(got, "left out") {
		t.Errorf("%d bytes %v", len(got), err)
	}
	if _, err := Shown("", exec.ErrNotFound); err == nil {
		t.Error("a shell that is missing is no output")
	}
}
