// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/test/printed"
)

const maySteer = "create,get,list,watch,patch,update,delete motorruns"

// follows starts a command. shows waits until it has printed a text, and ends until it has ended, and returns the exit code.
func (p *terminal) follows(args ...string) (out *printed.Text, shows func(string), ends func() int) {
	p.t.Helper()
	out = &printed.Text{}
	code := make(chan int, 1)
	go func() {
		code <- plugIn(p.t, verb.Streams{Out: out, Err: out}, append(args, "--kubeconfig", p.config)...)
	}()
	shows = func(text string) {
		p.t.Helper()
		err := wait.PollUntilContextCancel(testContext(p.t), 10*time.Millisecond, true, func(context.Context) (bool, error) { return strings.Contains(out.String(), text), nil })
		if err != nil {
			p.t.Fatalf("it does not show %q, but\n%s", text, out)
		}
	}
	ends = func() int {
		p.t.Helper()
		select {
		case c := <-code:
			return c
		case <-testContext(p.t).Done():
			p.t.Fatalf("it does not end:\n%s", out)
			return -1
		}
	}
	return out, shows, ends
}

// A run that is started with one command is seen to work, to ask, and to end, in one place.
func TestARunIsStartedAndFollowed(t *testing.T) {
	r := emptyRig(t, withQuestions, "true")
	dana := r.sits("dana@"+r.ns, maySteer, mayRespond, mayRead)
	begun := time.Now()
	out, shows, ends := dana.follows("run", "count the words", "--name", "run", "--tools", "bash,read", "--follow")
	shows("motorrun/run\n")
	r.key = client.ObjectKey{Namespace: r.ns, Name: "run"}
	r.now = r.run().CreationTimestamp.Add(time.Second)
	r.ready()
	first := turnAt(1, "I look.", `read:{"path":"a.txt"}`)
	first.Results[0] = okResult("words", 3)
	r.said(first)
	shows("read    a.txt")
	id := r.asked(2, `{"question":"Which?"}`)
	shows("?  Which?, expires in 30m")
	shows(`kubectl motor answer run -n ` + r.ns + ` --id `)
	dana.want(0, "answer run this")
	r.step()
	r.used("this")
	shows("question: Answered")
	r.said(turnAt(3, "There are 7."))
	r.step()
	if code := ends(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	shows("Completed: There are 7.")
	// Without events the run is read every 30 s.
	if took := time.Since(begun); took > 28*time.Second {
		t.Errorf("it took %s: what happens is not printed when it happens", took)
	}
	if strings.Count(out.String(), "a.txt") != 1 || strings.Count(out.String(), "Which?, expires") != 1 || strings.Count(out.String(), "--id "+id) != 1 {
		t.Errorf("printed is\n%s", out)
	}
	_, logs, _ := dana.does("logs", "run")
	for _, part := range []string{"says    I look.", "read    a.txt", "Completed: There are 7."} {
		if !strings.Contains(logs, part) {
			t.Errorf("the log does not say %q, but\n%s", part, logs)
		}
	}
	dana.want(0, "logs run -f", "Completed: There are 7.")
}

func TestFollowingEndsAsTheRunStands(t *testing.T) {
	r := askingRig(t, func(run *v1alpha1.MotorRun) { run.Spec.MaxAttempts = 1 })
	dana := r.sits("dana@"+r.ns, maySteer, mayRead)
	dana.want(verb.ExitTimeout, "logs run -f --timeout 50ms", "run has not ended after 50ms, it goes on without you")
	dana.want(verb.ExitMisused, "logs run --timeout 50ms", "go with --follow")
	dana.want(verb.ExitUnknown, "logs runs -f", "no MotorRun runs")
	r.asked(1, `{"question":"Which?"}`)
	dana.want(verb.ExitWaits, "logs run -f --until-asked", "?  Which?")
	dana.want(verb.ExitWaits, "logs run -f --timeout 50ms", "?  Which?")
	r.failed("Stuck")
	r.step()
	dana.want(verb.ExitFailed, "logs run -f", "attempt 1 failed: Stuck: It failed.", "Stuck: It failed.")
}

func TestFollowingEndsWithTheObject(t *testing.T) {
	r := askingRig(t)
	dana := r.sits("dana@"+r.ns, maySteer, mayRead)
	r.asked(1, `{"question":"Which?"}`)
	out, shows, ends := dana.follows("logs", "run", "-f")
	shows("?  Which?")
	must(t, mergePatch(r.ctx, r.run(), `{"metadata":{"finalizers":null}}`))
	must(t, admin.Delete(r.ctx, r.run()))
	if code := ends(); code != verb.ExitUnknown || !strings.Contains(out.String(), "the run was deleted") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

func TestARunThatIsRefused(t *testing.T) {
	r := emptyRig(t)
	dana := r.sits("dana@"+r.ns, maySteer)
	dana.want(1, "run count --tools fly", "error: the run is refused: spec.tools[0]: Unsupported value", "search_web")
	dana.want(1, "run count --domains http://example.org", "error: the run is refused: spec.domains[0]: ", "; spec.domains[0]: ")
	dana.want(0, "run count --name one", "motorrun/one")
	dana.want(1, "run count --name one", "there is a MotorRun one in the namespace "+r.ns+" already")
	dana.want(0, "run count", "motorrun/run-")
	r.sits("rita@"+r.ns, "get motorruns").want(1, "run count", "motorcortex-editor")
}
