// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/audit/ocsf"
	"motorcortex.dev/motorcortex/internal/audit/ocsf/ocsftest"
	"motorcortex.dev/motorcortex/internal/audit/watch"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/runpolicy/observed"
)

// audit is what was written.
type audit struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (a *audit) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.text.Write(b)
}

func (a *audit) lines() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Split(strings.TrimSuffix(a.text.String(), "\n"), "\n")
}

// await waits until there are that many lines and the last one has a text.
func (a *audit) await(ctx context.Context, t *testing.T, lines int, says string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		list := a.lines()
		return len(list) == lines && strings.Contains(list[len(list)-1], says), nil
	})
	if err != nil {
		t.Fatalf("the audit is %q, want %d lines, the last with %s", a.lines(), lines, says)
	}
}

// alwaysLed is of a cluster in which a manager always leads.
type alwaysLed struct{}

func (alwaysLed) Observed() observed.Time { return observed.Time{Until: time.Now().Add(time.Minute)} }

// The audit names the user as the API server has stamped it, and has each decision once while one process leads.
func TestDecisionsAreInTheAuditOnce(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	shown, err := cache.New(adminConfig, cache.Options{Scheme: admin.Scheme(), DefaultNamespaces: map[string]cache.Config{ns: {}}})
	must(t, err)
	to := &audit{}
	w := &watch.Watch{Cache: shown, To: ocsf.NewLog(to), Version: "1", Now: time.Now, Time: alwaysLed{}, Logger: slog.New(slog.DiscardHandler)}
	going, cancel := context.WithCancel(ctx)
	ended := make(chan error, 2)
	go func() { ended <- shown.Start(going) }()
	go func() { ended <- w.Start(going) }()
	defer func() {
		cancel()
		for range 2 {
			must(t, <-ended)
		}
	}()
	ann, err := clientAs("ann", "system:masters")
	must(t, err)
	run := newRun(ns)
	must(t, ann.Create(ctx, run))
	to.await(ctx, t, 1, `"actor":{"user":{"name":"`+run.Spec.Requester.Username+`"}}`)
	s := bareStep(ns, journal.StepName(run.Name, 1, 1), func(s *v1alpha1.MotorStepSpec) {
		s.ToolCalls = []v1alpha1.ToolCall{{ID: "c0", Tool: "bash", Arguments: `{"command":"git push"}`}}
	})
	s.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(run, v1alpha1.GroupVersion.WithKind("MotorRun"))}
	must(t, manager.Create(ctx, s))
	patch := func(change func(*v1alpha1.MotorStepStatus)) {
		t.Helper()
		before := s.DeepCopy()
		change(&s.Status)
		must(t, manager.Status().Patch(ctx, s, client.MergeFrom(before)))
	}
	patch(func(st *v1alpha1.MotorStepStatus) {
		st.Phase = v1alpha1.StepInFlight
		st.Asks = []v1alpha1.StepAsk{{ID: "q1", Kind: v1alpha1.InputApproval, CallID: "c0", Digest: "sha256:" + strings.Repeat("0", 64), AskTime: metav1.Now()}}
	})
	patch(func(st *v1alpha1.MotorStepStatus) {
		a := &st.Asks[0]
		a.Outcome, a.Decision, a.By, a.CloseTime = v1alpha1.AskApproved, v1alpha1.DecisionApproveOnce, "bob", metav1.Now()
	})
	to.await(ctx, t, 2, `"operation":"approve"`)
	// What changes after that is no decision.
	patch(func(st *v1alpha1.MotorStepStatus) {
		st.Phase, st.Results = v1alpha1.StepSettled, []v1alpha1.ToolResult{{CallID: "c0", OK: true, Provenance: "User"}}
	})
	must(t, mergePatch(ctx, run, `{"metadata":{"labels":{"changed":"yes"}}}`))
	rejected := &v1alpha1.Skill{ObjectMeta: meta(ns, "deploy"), Spec: v1alpha1.SkillSpec{
		Rejections: []v1alpha1.SkillRejection{{ContentHash: "sha256:" + strings.Repeat("1", 64)}},
	}}
	must(t, ann.Create(ctx, rejected))
	to.await(ctx, t, 3, `"operation":"reject"`)
	for _, line := range to.lines() {
		if err := ocsftest.Check([]byte(line)); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if run.Spec.Requester.Username != "ann" || !strings.Contains(to.lines()[2], `"name":"ann"`) {
		t.Errorf("the requester is %+v, and the rejection %s", run.Spec.Requester, to.lines()[2])
	}
}
