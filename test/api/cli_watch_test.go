// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/test/tty"
)

// sitsAt starts a command of the person at a screen, and returns its exit code when it ends.
func (p *terminal) sitsAt(s *tty.Screen, args ...string) (ends func() int) {
	p.t.Helper()
	code := make(chan int, 1)
	go func() {
		code <- plugIn(p.t, verb.Streams{In: s.TTY, Out: s.TTY, Err: s.TTY, Terminal: true, Screen: true}, append(args, "--kubeconfig", p.config)...)
	}()
	return func() int {
		p.t.Helper()
		select {
		case c := <-code:
			return c
		case <-testContext(p.t).Done():
			p.t.Fatalf("it does not end:\n%s", s.Text())
			return -1
		}
	}
}

// From the first step to the end on one screen, with a question and a call that a person decides about there.
func TestARunIsWatchedAndAnsweredInPlace(t *testing.T) {
	r := askingRig(t, needsApproval)
	anna := r.sits("anna@"+r.ns, mayApprove, mayRespond, mayRead)
	s := tty.New(t, 100, 24)
	ends := anna.sitsAt(s, "watch", "run", "--request-timeout", "20s")
	s.Shows("run  ", "q leave")
	r.asked(1, `{"question":"Which?","options":["a","b"]}`)
	s.Shows("waits for an answer: question", "Enter answer")
	s.Types("\r")
	s.Shows("  | Which?", "question · ")
	s.Types("2\r")
	s.Shows("sent: option 2: b")
	want := v1alpha1.Response{ID: r.response().ID, Answer: "b", RespondedBy: "anna@" + r.ns}
	if got := r.response(); got.Answer != want.Answer || got.RespondedBy != want.RespondedBy {
		t.Errorf("response %+v", got)
	}
	r.step()
	r.used("b")
	r.step()
	s.Shows("question: Answered")
	r.said(turnAt(2, "", "bash:"+gitPush))
	p := r.asksApproval(0)
	s.Shows("waits for an answer: approval", "Enter answer")
	s.Types("\r")
	s.Shows("  | git push origin main", "digest: "+p.Action.ArgsDigest, "approval · ")
	s.Types("y")
	s.Shows("reason for the model")
	s.Types("\r")
	s.Shows("sent: approve this call of bash")
	if got := r.response(); got.ID != p.ID || got.Decision != v1alpha1.DecisionApproveOnce || got.Digest != p.Action.ArgsDigest {
		t.Errorf("response %+v", got)
	}
	r.step()
	r.closed(turn.AskApproved, "", okResult("pushed", 1))
	s.Shows("bash    git push origin main")
	r.said(turnAt(3, "It is b."))
	r.step()
	if code := ends(); code != verb.ExitOK {
		t.Errorf("exit code %d:\n%s", code, s.Text())
	}
	s.Shows("Completed: It is b.")
}

// Who may not answer is told on the screen, and the answer is not lost.
func TestAnAnswerThatAPersonMayNotGive(t *testing.T) {
	r := askingRig(t)
	r.asked(1, `{"question":"Which?"}`)
	rita := r.sits("rita@"+r.ns, "get,list,watch motorruns", mayRead)
	s := tty.New(t, 120, 24)
	ends := rita.sitsAt(s, "watch", "run")
	s.Shows("Enter answer")
	s.Types("\r")
	s.Shows("question · ")
	s.Types("this\r")
	s.Shows("did not take it", "motorcortex-responder", "answer: this")
	s.Types("\x1b")
	s.Shows("nothing was sent")
	s.Types("q")
	if code := ends(); code != verb.ExitWaits {
		t.Errorf("exit code %d:\n%s", code, s.Text())
	}
	s.Shows("kubectl motor answer run -n "+r.ns+" --id ", " --kubeconfig ", "note: the run goes on")
}

func TestCodeIsRunWithOneCommand(t *testing.T) {
	r := emptyRig(t, withQuestions, "true")
	dana := r.sits("dana@"+r.ns, "create,get,list,watch motorruns")
	dana.typed = strings.NewReader("1 + 1\n")
	result := make(chan [2]string, 1)
	code := make(chan int, 1)
	go func() {
		c, out, errs := dana.does("exec", "--language", "javascript", "--name", "run")
		code <- c
		result <- [2]string{out, errs}
	}()
	r.key = client.ObjectKey{Namespace: r.ns, Name: "run"}
	must(t, wait.PollUntilContextCancel(r.ctx, 10*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		return admin.Get(ctx, r.key, &v1alpha1.MotorRun{}) == nil, nil
	}))
	r.now = r.run().CreationTimestamp.Time
	r.ready()
	r.ran(okResult(`{"ok":true,"value":2,"console":"hi\n"}`, 7))
	r.step()
	if c, got := <-code, <-result; c != verb.ExitOK || got[0] != "2\n" || !strings.HasSuffix(got[1], "hi\n") {
		t.Errorf("exit code %d, %q", c, got)
	}
	refused := r.sits("rita@"+r.ns, "get motorruns")
	refused.typed = strings.NewReader("1")
	refused.want(verb.ExitFailed, "exec --language python", "motorcortex-editor")
}

// Each line is an object: a program reads it without the ones before.
func TestLinesForPrograms(t *testing.T) {
	r := askingRig(t)
	dana := r.sits("dana@"+r.ns, mayRespond, mayRead)
	first := turnAt(1, "I look.", "bash:"+gitPush)
	first.Results[0] = okResult("one\ntwo\x1b[2J\n", 3)
	r.said(first)
	r.asked(2, `{"question":"Which?"}`)
	for line, want := range map[string]int{
		"logs run -o jsonl": 3, "logs run --step 1 -o jsonl": 2, "logs run --tool bash -o jsonl": 1, "logs run --attempt 2 -o jsonl": 0, "logs run -f --until-asked --tool ask_user -o jsonl": 1,
		"watch run --until-asked -o jsonl": 3, "steps run -o jsonl": 2, "list -o jsonl": 1, "get run -o jsonl": 1, "inbox -o jsonl": 1, "trace run -o otlp": 1,
	} {
		code, out, errs := dana.does(strings.Fields(line)...)
		if waits := strings.Contains(line, "until-asked"); (code == verb.ExitWaits) != waits || code != verb.ExitOK && !waits || strings.Count(out, "\n") != want {
			t.Errorf("%s: exit code %d, %d lines, want %d:\n%s%s", line, code, strings.Count(out, "\n"), want, out, errs)
		}
		for object := range strings.Lines(out) {
			if !json.Valid([]byte(object)) {
				t.Errorf("%s: no JSON: %s", line, object)
			}
		}
	}
	dana.want(0, "trace run", "attempt 1", "step 1", "bash git push origin main", "question")
	dana.want(4, "logs run -o json", "none of jsonl")
}
