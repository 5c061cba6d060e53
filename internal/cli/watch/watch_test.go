// SPDX-License-Identifier: Apache-2.0

package watch_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/cli/watch"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
	"motorcortex.dev/motorcortex/test/golden"
	"motorcortex.dev/motorcortex/test/tty"
)

var begin = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func at(seconds int) metav1.Time {
	return metav1.NewTime(begin.Add(time.Duration(seconds) * time.Second))
}

// rig is a cluster with one run, and a person who watches it.
type rig struct {
	t *testing.T
	client.WithWatch
	*tty.Screen

	code chan int
	// away is set while the cluster cannot be asked.
	away atomic.Bool
	// refuse is set while no response is taken.
	refuse   atomic.Bool
	watching atomic.Int32
	mu       sync.Mutex
	open     []apiwatch.Interface
}

var key = client.ObjectKey{Namespace: "agents", Name: "portfolio"}

func newRig(t *testing.T, width, height int) *rig {
	t.Helper()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	run := &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{Name: key.Name, Namespace: key.Namespace, UID: "uid", CreationTimestamp: at(0)},
		Spec:       v1alpha1.MotorRunSpec{Task: "count", Responses: []v1alpha1.Response{{ID: "earlier", Answer: "x"}}},
		Status: v1alpha1.MotorRunStatus{
			Phase: v1alpha1.PhaseRunning, Reason: v1alpha1.ReasonRunning, Model: "scripted/a", Steps: 1, Usage: v1alpha1.Usage{TotalTokens: 1234},
			Attempts:   []v1alpha1.AttemptStatus{{Index: 1, StartTime: new(at(1))}},
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionSandboxReady, Status: metav1.ConditionTrue}},
		},
	}
	step := &v1alpha1.MotorStep{
		ObjectMeta: metav1.ObjectMeta{
			Name: "portfolio-a01-s0001", Namespace: key.Namespace, CreationTimestamp: at(33), Labels: map[string]string{v1alpha1.LabelRun: key.Name},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "motorcortex.dev/v1alpha1", Kind: "MotorRun", Name: key.Name, UID: "uid"}},
		},
		Spec: v1alpha1.MotorStepSpec{
			Type: v1alpha1.StepTurn, Attempt: 1, Index: 1, Content: "I read\x1b[2J it.",
			ToolCalls: []v1alpha1.ToolCall{{ID: "c0", Tool: "read", Arguments: `{"path":"portfolio.csv"}`}, {ID: "c1", Tool: "bash", Arguments: `{"command":"make report"}`}},
		},
		Status: v1alpha1.MotorStepStatus{Phase: v1alpha1.StepInFlight, Results: []v1alpha1.ToolResult{{CallID: "c0", OK: true, DurationMilliseconds: 3}}},
	}
	r := &rig{t: t, Screen: tty.New(t, width, height), code: make(chan int, 1)}
	r.WithWatch = fake.NewClientBuilder().WithScheme(scheme).WithObjects(run, step).WithInterceptorFuncs(interceptor.Funcs{
		Watch: r.watch,
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if r.refuse.Load() {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "motorruns"}, key.Name, errors.New("denied request: bind a role"))
			}
			return c.Patch(ctx, o, p, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			if r.away.Load() {
				return errors.New("no route\x1b[2J to host")
			}
			return c.List(ctx, list, o...)
		},
	}).Build()
	return r
}

// watch counts the watches that are open: this cluster does not tell of what changed before one began.
func (r *rig) watch(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) (apiwatch.Interface, error) {
	w, err := c.Watch(ctx, list, o...)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open = append(r.open, w)
	r.watching.Add(1)
	return &counted{Interface: w, stopped: func() { r.watching.Add(-1) }}, nil
}

// counted is a watch that is counted while it is open.
type counted struct {
	apiwatch.Interface

	stopped func()
}

func (c *counted) Stop() {
	c.stopped()
	c.Interface.Stop()
}

// loses ends the watches that are open, as an API server does that is restarted.
func (r *rig) loses() {
	r.t.Helper()
	r.isWatched()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.open {
		w.Stop()
	}
	r.open = nil
}

// isWatched waits until the run and its steps are watched.
func (r *rig) isWatched() {
	r.t.Helper()
	err := wait.PollUntilContextTimeout(r.t.Context(), time.Millisecond, patience, true, func(context.Context) (bool, error) { return r.watching.Load() == 2, nil })
	if err != nil {
		r.t.Fatalf("it is not watched:\n%s", r.Text())
	}
}

// patience bounds a wait.
const patience = 30 * time.Second

// watches starts the verb.
func (r *rig) watches(args ...string) {
	s := verb.Streams{In: r.TTY, Out: r.TTY, Err: r.TTY, Terminal: true, Screen: true}
	p := verb.Program(s, "kubectl-motor", "kubectl motor", "Test.", r.verb(s))
	ctx, cancel := context.WithCancel(r.t.Context())
	r.t.Cleanup(func() {
		cancel()
		r.code <- <-r.code
	})
	go func() { r.code <- verb.Run(ctx, p, append([]string{"watch", key.Name}, args...)) }()
}

// verb is the verb, a minute after the run was created.
func (r *rig) verb(s verb.Streams) *cobra.Command {
	connect := func() (client.WithWatch, string, error) { return r.WithWatch, key.Namespace, nil }
	return watch.New(watch.Command{Streams: s, Connect: connect, Now: func() time.Time { return begin.Add(time.Minute) }})
}

// ends waits for the verb to end.
func (r *rig) ends(want int) {
	r.t.Helper()
	select {
	case code := <-r.code:
		r.code <- code
		if code != want {
			r.t.Errorf("exit code %d, want %d:\n%s", code, want, r.Text())
		}
	case <-time.After(patience):
		r.t.Fatalf("it does not end:\n%s", r.Text())
	}
}

// changes writes the run as the operator does.
func (r *rig) changes(change func(*v1alpha1.MotorRun)) {
	r.t.Helper()
	run := &v1alpha1.MotorRun{}
	if err := r.Get(r.t.Context(), key, run); err != nil {
		r.t.Fatal(err)
	}
	change(run)
	r.isWatched()
	if err := r.Update(r.t.Context(), run); err != nil {
		r.t.Fatal(err)
	}
}

// asks has the run ask.
func (r *rig) asks(p v1alpha1.PendingInput) {
	r.t.Helper()
	p.AskTime, p.ExpirationTime = at(50), at(50+30*60)
	r.changes(func(run *v1alpha1.MotorRun) {
		run.Status.Phase, run.Status.PendingInputs = v1alpha1.PhaseAwaitingInput, []v1alpha1.PendingInput{p}
	})
}

// response is what was sent, "" if nothing was.
func (r *rig) response() string {
	r.t.Helper()
	run := &v1alpha1.MotorRun{}
	if err := r.Get(r.t.Context(), key, run); err != nil {
		r.t.Fatal(err)
	}
	var all []string
	for _, p := range run.Spec.Responses[1:] {
		all = append(all, strings.Join([]string{p.ID, string(p.Decision), p.Answer, p.Reason, p.Guidance, p.Digest}, "|"))
	}
	return strings.Join(all, ", ")
}

func (r *rig) succeeds() {
	r.t.Helper()
	r.changes(ended)
}

func ended(run *v1alpha1.MotorRun) {
	run.Status.Phase, run.Status.Reason, run.Status.CompletionTime, run.Status.PendingInputs = v1alpha1.PhaseCompleted, "Completed", new(at(59)), nil
	run.Status.Conditions = append(run.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionTrue})
	run.Status.Result = &v1alpha1.RunResult{OK: true, Summary: "3 positions\x07\nACME"}
}

func TestARunIsWatchedAnsweredAndEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 16)
	r.watches()
	golden.Check(t, "works.txt", r.Shows("make report", "q leave"))
	r.asks(v1alpha1.PendingInput{ID: "q", Kind: v1alpha1.InputQuestion, Question: "ACME has no price.\n\x1b[2JUse the last known one?", Options: []string{"yes", "skip it"}, Default: "yes"})
	golden.Check(t, "asks.txt", r.Shows("waits for an answer", "Enter answer"))
	r.Types("\r")
	r.Shows("question · ")
	// A number that is no option is refused, and nothing is sent.
	r.Types("9\r")
	r.Shows("that is no option: the question has the options 1 to 2")
	r.Types("\x7f2")
	golden.Check(t, "question.txt", r.Shows("Enter sends: option 2: skip it"))
	r.Types("\r")
	r.Shows("sent: option 2: skip it")
	if got := r.response(); got != "q||skip it|||" {
		t.Errorf("sent is %q", got)
	}
	r.succeeds()
	r.ends(verb.ExitOK)
	r.ShowsNot("q leave")
	golden.Check(t, "ended.txt", r.Shows("Completed: 3 positions", "              ACME\n"))
}

// longCall has more rows than the screen.
func longCall() v1alpha1.PendingInput {
	arguments := `{"command":"` + strings.Repeat(`echo one\n`, 30) + `git push"}`
	return v1alpha1.PendingInput{ID: "a", Kind: v1alpha1.InputApproval, Question: "Approve?", Action: &v1alpha1.PendingAction{
		Tool: "bash", Arguments: arguments, ArgsDigest: calls.ArgsDigest("bash", arguments), Rule: `bash.commands "git push *"`, Reason: "it pushes",
	}}
}

// Who has not seen the end of a call does not know what it does.
func TestACallIsApprovedAfterItWasRead(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 14)
	r.watches()
	p := longCall()
	r.asks(p)
	r.Shows("waits for an answer: approval", "Enter answer")
	r.Types("y\r")
	golden.Check(t, "call.txt", r.Shows("y  approve this call of bash", "more rows"))
	r.Types("y")
	r.Shows("read to the end first")
	r.Types("\x1b[6~\x1b[6~\x1b[6~\x1b[6~\x1b[6~\x1b[6~")
	r.Shows("digest: "+p.Action.ArgsDigest, "because of: it pushes")
	r.Types("y")
	r.Shows("reason for the model")
	if got := r.response(); got != "" {
		t.Fatalf("one key sent %q", got)
	}
	r.Types("go on")
	golden.Check(t, "approve.txt", r.Shows("nothing: go on"))
	r.Types("\r")
	r.Shows("sent: approve this call of bash")
	if got, want := r.response(), "a|ApproveOnce||go on||"+p.Action.ArgsDigest; got != want {
		t.Errorf("sent is %q, want %q", got, want)
	}
	r.Types("q")
	r.ends(verb.ExitTimeout)
}

func TestDecisions(t *testing.T) {
	t.Parallel()
	short := longCall()
	short.Action.Arguments = `{"command":"ls"}`
	short.Action.ArgsDigest = calls.ArgsDigest("bash", short.Action.Arguments)
	unknown := v1alpha1.PendingInput{ID: "u", Kind: v1alpha1.InputOutcomeUnknown, Question: "What became of it?"}
	domain := v1alpha1.PendingInput{ID: "d", Kind: v1alpha1.InputDomainRequest, Question: "Allow it?", Domain: "example.org"}
	retry := v1alpha1.PendingInput{ID: "t", Kind: v1alpha1.InputRetry, Question: "Attempt 1 failed."}
	for name, tt := range map[string]struct {
		asks              v1alpha1.PendingInput
		key, says, writes string
		want              string
	}{
		"a call until the end": {short, "r", `every call of bash by bash.commands "git push *"`, "", "a|ApproveRun||||" + short.Action.ArgsDigest},
		"a call is denied":     {short, "n", "deny this call of bash", "not today", "a|Deny||not today||" + short.Action.ArgsDigest},
		"a domain once":        {domain, "o", "allow example.org for one call", "", "d|AllowOnce||||"},
		"a domain":             {domain, "r", "allow example.org until the run ends", "", "d|AllowRun||||"},
		"a domain is denied":   {domain, "n", "deny example.org", "use the file", "d|Deny||use the file||"},
		"a call again":         {unknown, "r", "make the call again", "", "u|Retry||||"},
		"a call that is done":  {unknown, "d", "go on as if it succeeded", "I looked", "u|Done||I looked||"},
		"a call is left out":   {unknown, "s", "go on without it", "", "u|Skip||||"},
		"another attempt":      {retry, "r", "try again", "use port 8080", "t|Retry|||use port 8080|"},
		"no other attempt":     {retry, "s", "end the run", "enough", "t|Stop||enough||"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 120, 20)
			r.watches()
			r.asks(tt.asks)
			r.Shows("Enter answer")
			r.Types("\r")
			r.Shows("Esc close")
			r.Types(tt.key)
			r.Shows("Enter sends: ", tt.says, "Esc back")
			r.Types(tt.writes + "\r")
			r.Shows("sent: ", tt.says)
			if got := r.response(); got != tt.want {
				t.Errorf("sent is %q, want %q", got, tt.want)
			}
		})
	}
}

// The run that a person decides about may go on while they think.
func TestWhatIsNotAskedAnyMoreIsNotAnswered(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 20)
	r.watches()
	r.asks(v1alpha1.PendingInput{ID: "q", Kind: v1alpha1.InputQuestion, Question: "Which?"})
	r.Shows("Enter answer")
	r.Types("\r")
	r.Shows("question · ")
	r.Types("this")
	r.Shows("Enter sends: this")
	r.asks(v1alpha1.PendingInput{ID: "q2", Kind: v1alpha1.InputQuestion, Question: "Really?"})
	r.Shows("it is not asked any more: nothing was sent", "Enter answer")
	r.Types("\r")
	r.Shows("  | Really?")
	r.Types("\x1b")
	r.Shows("nothing was sent")
	if got := r.response(); got != "" {
		t.Errorf("sent is %q", got)
	}
	r.Types("\x03")
	r.ends(verb.ExitWaits)
	r.Shows("kubectl motor answer portfolio -n agents --id q2", "note: the run goes on: kubectl motor watch portfolio -n agents")
}

// The answer of another person came first, and the watch has not told of it yet. The words are still there to copy.
func TestARefusedAnswerIsKept(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 20)
	r.watches()
	p := v1alpha1.PendingInput{ID: "q", Kind: v1alpha1.InputQuestion, Question: "Which?"}
	r.asks(p)
	r.Shows("Enter answer")
	r.Types("\r")
	r.Shows("question · ")
	r.refuse.Store(true)
	r.Types("this\r")
	r.Shows("did not take it", "bind a role", "answer: this")
	r.refuse.Store(false)
	r.Types("\r")
	r.Shows("sent: this")
	if got := r.response(); got != "q||this|||" {
		t.Errorf("sent is %q", got)
	}
}

func TestTheClusterIsAwayForAWhile(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 16)
	r.watches()
	r.Shows("make report")
	r.away.Store(true)
	r.loses()
	r.Shows("the cluster cannot be asked, trying again: list the MotorSteps", `no route\u001b[2J to host`)
	r.away.Store(false)
	r.ShowsNot("trying again")
	r.succeeds()
	r.ends(verb.ExitOK)
}

func TestARunThatIsDeleted(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 16)
	r.watches()
	r.Shows("make report")
	r.isWatched()
	if err := r.Delete(t.Context(), &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: key.Name, Namespace: key.Namespace}}); err != nil {
		t.Fatal(err)
	}
	r.ends(verb.ExitUnknown)
	r.Shows("the run was deleted")
}

// A person makes the window small, and large again.
func TestTheWindowChanges(t *testing.T) { //nolint:paralleltest // The signal about a size goes to all screens of the process.
	r := newRig(t, 80, 16)
	r.watches()
	r.asks(longCall())
	r.Shows("Enter answer")
	r.Resize(30, 8)
	golden.Check(t, "narrow.txt", r.Shows("waits for an answer: …", "Enter answer"))
	r.Types("\r")
	r.Shows("make the window larger")
	r.Resize(30, 14)
	r.ShowsNot("make the window larger")
	r.Shows("more rows")
	// Rows that were cut must still be seen to be the model's.
	r.Types("\x1b[6~")
	golden.Check(t, "narrow_call.txt", r.Shows("echo one"))
	r.Resize(100, 50)
	r.Shows("echo one", "digest: sha256:", "approval · Esc close")
	r.Resize(3, 1)
	r.Resize(80, 16)
	r.Shows("approval · ", "more rows")
	r.Types("q")
	r.ends(verb.ExitWaits)
}

func TestTheTimeIsOver(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 16)
	r.watches("--timeout", "1ms")
	r.ends(verb.ExitTimeout)
	r.Shows("has not ended after 1ms")
}

// Without a screen the lines are those of a log that is followed, and for programs those of its events.
func TestWithoutATerminal(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		terminal bool
		args     []string
		want     string
	}{
		"a pipe":    {false, nil, "[ 0:33]   1  says    I read\\u001b[2J it.\n[ 0:33]   1  read    portfolio.csv                                 ok  3ms\n[ 0:59]      Completed: 3 positions\\u0007\n              ACME\n"},
		"a program": {true, []string{"-o", "jsonl"}, `{"time":"2026-11-27T12:00:33Z","type":"Says","namespace":"agents","run":"portfolio","attempt":1,"step":1,"message":"I read\u001b[2J it."}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 80, 16)
			run := &v1alpha1.MotorRun{}
			if err := r.Get(t.Context(), key, run); err != nil {
				t.Fatal(err)
			}
			ended(run)
			if err := r.Update(t.Context(), run); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			s := verb.Streams{In: strings.NewReader(""), Out: &out, Err: &out, Terminal: tt.terminal, Screen: tt.terminal}
			p := verb.Program(s, "kubectl-motor", "kubectl motor", "Test.", r.verb(s))
			if code := verb.Run(t.Context(), p, append([]string{"watch", key.Name}, tt.args...)); code != verb.ExitOK || !strings.HasPrefix(out.String(), tt.want) {
				t.Errorf("exit code %d:\n%s", code, &out)
			}
		})
	}
}
