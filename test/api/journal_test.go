// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

var claim1 = journal.Claim{Epoch: 1, Worker: "worker-1"}

func loadLog(ctx context.Context, t *testing.T, c client.Client, run *v1alpha1.MotorRun, claim journal.Claim) *journal.Log {
	t.Helper()
	l, err := journal.Load(ctx, c, manager, run, 1, claim, time.Now)
	must(t, err)
	return l
}

func TestJournalRoundTrip(t *testing.T) {
	t.Parallel()
	hard := strings.Repeat("\"quoted\\ \x01\x1f <&> 漢字 \u2028\n", toolapi.MaxOutputBytes/30)
	biggest := turnAt(1, strings.Repeat("c", 64<<10))
	for i := range 8 {
		id := turn.CallID(1, 1, i)
		biggest.Calls = append(biggest.Calls, turn.Call{
			ID: id, ModelID: strings.Repeat("m", 256-len(id)) + id, Tool: strings.Repeat("t", 64), Arguments: strings.Repeat("\\\"", 8<<10),
		})
		biggest.Results = append(biggest.Results, &toolapi.Result{
			Output: hard, ErrorCode: "exit_1", Retryable: true, Provenance: toolapi.ProvenanceWeb, DurationMs: 12, OutputFile: strings.Repeat("f", 1024),
			KeptFile: strings.Repeat("k", 256),
		})
	}
	tests := map[string]*turn.Turn{
		"closing text": turnAt(1, "done"),
		"two calls":    turnAt(1, "let me see", `bash:{"command":"ls"}`, "read:no JSON"),
		"the largest":  biggest,
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			run := createRun(ctx, t, newNamespace(ctx, t))
			l := loadLog(ctx, t, manager, run, claim1)
			l.UseSandbox(v1alpha1.StepSandbox{PodUID: "uid", ServerKey: "sha256:key", IsolationTries: 3, IsolationMilliseconds: 20})
			results := want.Results
			want.Results = make([]*toolapi.Result, len(results))
			must(t, l.Append(ctx, want))
			for i := range results {
				if results[i] == nil {
					results[i] = okResult("fine", int64(i))
				}
			}
			want.Results = results
			must(t, l.Settle(ctx, want))

			got := loadLog(ctx, t, manager, run, claim1)
			if diff := cmp.Diff([]*turn.Turn{want}, got.Turns()); diff != "" {
				t.Errorf("turn after a round trip (-want +got):\n%.2000s", diff)
			}
			if diff := cmp.Diff(l.Sandbox(), got.Sandbox()); diff != "" {
				t.Errorf("sandbox after a round trip (-want +got):\n%s", diff)
			}
			if got.Ended() != want.Closes {
				t.Errorf("Ended is %t, the turn's Closes %t", got.Ended(), want.Closes)
			}
			step := got.Steps()[0]
			if step.Name != "run-a01-s0001" || step.Spec.Epoch != 1 || step.Spec.Worker != "worker-1" || step.Labels[v1alpha1.LabelRun] != "run" {
				t.Errorf("step is %s, spec %d %s, labels %v", step.Name, step.Spec.Epoch, step.Spec.Worker, step.Labels)
			}
			if step.Status.Phase != v1alpha1.StepSettled {
				t.Errorf("phase %s", step.Status.Phase)
			}
		})
	}
}

func TestJournalEnd(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	run := createRun(ctx, t, newNamespace(ctx, t))
	l := loadLog(ctx, t, manager, run, claim1)
	must(t, l.Append(ctx, turnAt(1, "", "bash:{}")))
	if l.Ended() {
		t.Error("the attempt has ended before its end")
	}
	f := &outcome.Failure{Category: outcome.ToolFailure, Reason: "Why", Message: strings.Repeat("ü", 5000), Retryable: true}
	extra := outcome.Outcome{
		Partial: strings.Repeat("ä", 50_000), Hint: strings.Repeat("ö", 1000), Usage: turn.Usage{PromptTokens: 5, CompletionTokens: 2}, ModelDuration: time.Second,
	}
	must(t, l.End(ctx, f, extra))
	got := loadLog(ctx, t, manager, run, claim1)
	if !got.Ended() || len(got.Steps()) != 2 || len(got.Turns()) != 1 {
		t.Fatalf("ended %t with %d steps and %d turns", got.Ended(), len(got.Steps()), len(got.Turns()))
	}
	o := got.Steps()[1].Spec.Outcome
	if o.Category != v1alpha1.CategoryToolFailure || o.Reason != "Why" || !o.Retryable || len(o.Message) > 4096 || !strings.HasSuffix(o.Message, "ü…") {
		t.Errorf("outcome %s %s %t, %d bytes", o.Category, o.Reason, o.Retryable, len(o.Message))
	}
	end := got.Steps()[1].Spec
	if len(end.Content) > 64<<10 || !strings.HasSuffix(end.Content, "ä…") || len(o.Hint) > 1024 || !strings.HasSuffix(o.Hint, "ö…") {
		t.Errorf("%d bytes of partial result, %d of hint", len(end.Content), len(o.Hint))
	}
	if end.Usage != (v1alpha1.Usage{PromptTokens: 5, CompletionTokens: 2, TotalTokens: 7}) || end.ModelMilliseconds != 1000 {
		t.Errorf("the end took %+v and %d ms", end.Usage, end.ModelMilliseconds)
	}
	// Another loop of the same claim that comes to the same end is not stale, and writes no second one.
	must(t, l.End(ctx, f, extra))
}

func TestJournalAppend(t *testing.T) {
	t.Parallel()
	first := turnAt(1, "", "bash:{}")
	claim2 := journal.Claim{Epoch: 2, Worker: "worker-1"}
	tests := map[string]struct {
		claim journal.Claim
		turn  *turn.Turn
		want  error
	}{
		"again by the same claim":                  {claim2, first, nil},
		"another request of the same claim":        {claim2, turnAt(1, "other", "read:{}"), journal.ErrMovedOn},
		"the same request of a later epoch":        {journal.Claim{Epoch: 3, Worker: "worker-1"}, first, journal.ErrMovedOn},
		"the same request of an earlier epoch":     {journal.Claim{Epoch: 1, Worker: "worker-1"}, first, motorloop.ErrStale},
		"the same request of another worker's":     {journal.Claim{Epoch: 2, Worker: "worker-2"}, first, journal.ErrMovedOn},
		"another worker's of an earlier, lost one": {journal.Claim{Epoch: 1, Worker: "worker-0"}, first, motorloop.ErrStale},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			run := createRun(ctx, t, newNamespace(ctx, t))
			// Both have read the journal before either wrote.
			winner, loser := loadLog(ctx, t, manager, run, claim2), loadLog(ctx, t, manager, run, tt.claim)
			must(t, winner.Append(ctx, first))
			if err := loser.Append(ctx, tt.turn); !errors.Is(err, tt.want) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			if tt.want == nil {
				tt.turn = turnAt(1, "", "bash:{}")
				tt.turn.Results[0] = okResult("x", 1)
				must(t, loser.Settle(ctx, tt.turn))
			}
		})
	}
}

// lossy carries out the next write, or does not, and loses its answer.
func lossy(t *testing.T, committed bool, left *int) client.Client {
	lose := func(write func() error) error {
		if *left == 0 {
			return write()
		}
		*left--
		if committed {
			must(t, write())
		}
		return errors.New("the answer was lost")
	}
	return interceptor.NewClient(manager, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return lose(func() error {
				created := o
				if *left > 0 {
					created = o.DeepCopyObject().(client.Object)
				}
				return c.Create(ctx, created, opts...)
			})
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if *left == 0 {
				return c.SubResource(sub).Patch(ctx, o, p, opts...)
			}
			return lose(func() error { return c.SubResource(sub).Patch(ctx, o.DeepCopyObject().(client.Object), p, opts...) })
		},
		// A manager's client reads from a cache that keeps the heads of steps only. The journal must not look there.
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
			t.Errorf("%s was read from the cache", key)
			return errors.New("read from the cache")
		},
	})
}

// What the model said is not thrown away because a write had no answer.
func TestJournalSurvivesLostAnswers(t *testing.T) {
	t.Parallel()
	for name, committed := range map[string]bool{"carried out": true, "not carried out": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			run := createRun(ctx, t, newNamespace(ctx, t))
			lose := 1
			l := loadLog(ctx, t, lossy(t, committed, &lose), run, claim1)
			turn1 := turnAt(1, "said", "bash:{}")
			must(t, l.Append(ctx, turn1))
			if lose != 0 || len(l.Steps()) != 1 || l.Steps()[0].UID == "" {
				t.Errorf("%d answers were not lost, the steps are %+v", lose, l.Steps())
			}
			lose = 1
			turn1.Results[0] = okResult("out", 5)
			must(t, l.Settle(ctx, turn1))
			must(t, l.Append(ctx, turnAt(2, "", "read:{}")))
			got := loadLog(ctx, t, manager, run, claim1).Steps()
			if len(got) != 2 || got[0].Status.OK != "1/1" {
				t.Errorf("the journal is %+v", got)
			}
		})
	}
}

// The API server does not come back so soon. A loop that starts again finds what was carried out.
func TestJournalGivesUp(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	run := createRun(ctx, t, newNamespace(ctx, t))
	lose := 100
	l := loadLog(ctx, t, lossy(t, false, &lose), run, claim1)
	turn1 := turnAt(1, "said", "bash:{}")
	if err := l.Append(ctx, turn1); err == nil || len(l.Steps()) != 0 || l.Writes() != 0 {
		t.Fatalf("append gave %v, %d steps and %d writes", err, len(l.Steps()), l.Writes())
	}
	if lose != 95 {
		t.Errorf("tried %d times", 100-lose)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := l.Append(ended, turn1); err == nil || lose != 94 {
		t.Errorf("after the end of its context: %v, tried %d times", err, 95-lose)
	}
	lose = 0
	must(t, l.Append(ctx, turn1))
}

func TestJournalOfAnEarlierRunOfThatName(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	old := createRun(ctx, t, ns)
	straggler := loadLog(ctx, t, manager, old, claim1)
	must(t, admin.Delete(ctx, old))
	run := createRun(ctx, t, ns)
	l := loadLog(ctx, t, manager, run, claim1)
	must(t, straggler.Append(ctx, turnAt(1, "", "bash:{}")))
	if _, err := journal.Load(ctx, manager, manager, run, 1, claim1, time.Now); !errors.Is(err, journal.ErrNotYetGone) {
		t.Fatalf("load gives %v, want ErrNotYetGone", err)
	}
	if err := l.Append(ctx, turnAt(1, "", "bash:{}")); !errors.Is(err, journal.ErrNotYetGone) {
		t.Fatalf("got %v, want ErrNotYetGone", err)
	}
	must(t, admin.DeleteAllOf(ctx, &v1alpha1.MotorStep{}, client.InNamespace(ns)))
	must(t, l.Append(ctx, turnAt(1, "", "bash:{}")))
}

func wantInternalError(t *testing.T, err error, parts ...string) *outcome.Failure {
	t.Helper()
	f, ok := errors.AsType[*outcome.Failure](err)
	if !ok || f.Category != outcome.InfraFailure || f.Reason != v1alpha1.ReasonInternalError {
		t.Fatalf("got %v", err)
	}
	for _, p := range parts {
		if !strings.Contains(f.Message, p) {
			t.Errorf("the message lacks %q: %s", p, f.Message)
		}
	}
	return f
}

// What the API server calls invalid it would call so for ever.
func TestJournalStepThatIsNotTaken(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	l := loadLog(ctx, t, manager, createRun(ctx, t, newNamespace(ctx, t)), claim1)
	long := turnAt(1, "", "bash:{}")
	long.PromptDigest = strings.Repeat("x", 1000)
	wantInternalError(t, l.Append(ctx, long), "run-a01-s0001", "promptDigest")
	turn1 := turnAt(1, "", "bash:{}")
	must(t, l.Append(ctx, turn1))
	turn1.Results[0] = okResult("", 1)
	turn1.Results[0].OutputFile = strings.Repeat("x", 2000)
	f := wantInternalError(t, l.Settle(ctx, turn1), "run-a01-s0001", "outputFile")
	must(t, l.End(ctx, f, outcome.Outcome{}))
}

func TestJournalWithAGapIsRefused(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	run := createRun(ctx, t, newNamespace(ctx, t))
	l := loadLog(ctx, t, manager, run, claim1)
	for i := range int32(3) {
		must(t, l.Append(ctx, turnAt(i+1, "", "bash:{}")))
	}
	if err := l.Append(ctx, turnAt(5, "", "bash:{}")); err == nil {
		t.Error("step 5 was appended after step 3")
	}
	must(t, admin.Delete(ctx, &l.Steps()[1]))
	gap, err := journal.Load(ctx, manager, manager, run, 1, claim1, time.Now)
	f := wantInternalError(t, err, "run-a01-s0002", "deleted")
	must(t, gap.End(ctx, f, outcome.Outcome{}))
	got := loadLog(ctx, t, manager, run, claim1)
	if last := got.Steps()[2]; !got.Ended() || last.Name != "run-a01-s0004" || last.Spec.Outcome == nil {
		t.Errorf("ended %t with %s", got.Ended(), last.Name)
	}
}
