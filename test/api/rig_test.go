// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	runs "motorcortex.dev/motorcortex/internal/controller/run"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

const startTimeout = 3 * time.Minute

// rig is one namespace with one run and a reconciler, which has the manager's rights and a clock that is set by hand.
type rig struct {
	passes
	rec *runs.Reconciler
}

func newRig(t *testing.T, change ...func(*v1alpha1.MotorRun)) *rig {
	t.Helper()
	r := emptyRig(t)
	r.create(admin, change...)
	return r
}

// emptyRig is a rig without a run.
func emptyRig(t *testing.T, labels ...string) *rig {
	t.Helper()
	t.Parallel()
	ctx := testContext(t)
	r := &rig{passes: passes{t: t, ctx: ctx, ns: newNamespace(ctx, t, append(labels, "pod-security.kubernetes.io/enforce", "restricted")...)}}
	endpoint := cortex.Endpoint{BaseURL: "http://model.example.org/v1", Model: "model-0", TextEnds: true}
	r.rec = &runs.Reconciler{
		Client: manager, Live: manager, Recorder: r,
		Models: cortex.Resolver{Cortex: manager, Secrets: manager, Default: endpoint},
		Config: runs.Config{
			Sandbox:             sandbox.Config{Image: "sandbox.example.org/image:1", ManagerKey: "sha256:manager", Namespace: managerNamespace},
			SandboxStartTimeout: startTimeout,
			EgressKey:           []byte("the key of all tokens"),
			EgressService:       egressService,
		},
		Workers: workers{"replica-1"},
		Now:     func() time.Time { return r.now },
	}
	return r
}

// create makes the run as a user does, and sets the clock.
func (r *rig) create(user client.Client, change ...func(*v1alpha1.MotorRun)) {
	r.t.Helper()
	run := newRun(r.ns, change...)
	must(r.t, user.Create(r.ctx, run))
	r.key = client.ObjectKeyFromObject(run)
	r.now = run.CreationTimestamp.Add(time.Second)
}

// step reconciles, and once more to see that the second time changes nothing. It gives the second result.
func (r *rig) step() ctrl.Result {
	r.t.Helper()
	r.once()
	if r.lastLook() {
		r.once()
	}
	return r.passAgain(r.rec, r.versions)
}

// lastLook plays the engine for a run that is ending: it closes the last step. It says whether there was anything to do.
func (r *rig) lastLook() bool {
	r.t.Helper()
	run, err := r.tryRun()
	if err != nil || run.Status.Ending == nil {
		return false
	}
	must(r.t, r.log().Close(r.ctx, journal.Closing{}))
	return true
}

// settle reconciles until a pass changes nothing, and gives its result.
func (r *rig) settle() ctrl.Result {
	r.t.Helper()
	for range 10 {
		before := r.versions()
		if res := r.once(); cmp.Equal(before, r.versions()) {
			return res
		}
		r.lastLook()
	}
	r.t.Fatal("each pass changes something")
	return ctrl.Result{}
}

func (r *rig) once() ctrl.Result {
	r.t.Helper()
	return r.pass(r.rec)
}

// versions are the resource versions of everything that the reconciler may write.
func (r *rig) versions() map[string]string {
	r.t.Helper()
	v := r.versionsOf(&v1alpha1.MotorRun{}, &v1alpha1.MotorStep{}, &corev1.Pod{}, &networkingv1.NetworkPolicy{})
	run := &metav1.PartialObjectMetadata{}
	run.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("MotorRun"))
	if admin.Get(r.ctx, r.key, run) != nil {
		return v
	}
	grants := &metav1.PartialObjectMetadataList{}
	grants.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	must(r.t, admin.List(r.ctx, grants, client.InNamespace(managerNamespace), client.MatchingLabels{
		v1alpha1.LabelComponent: v1alpha1.ComponentEgressGrant, v1alpha1.LabelRunUID: string(run.UID),
	}))
	for i := range grants.Items {
		v["grant"] = grants.Items[i].ResourceVersion
	}
	return v
}

func (r *rig) tryRun() (*v1alpha1.MotorRun, error) {
	run := &v1alpha1.MotorRun{}
	return run, admin.Get(r.ctx, r.key, run)
}

func (r *rig) run() *v1alpha1.MotorRun {
	r.t.Helper()
	run, err := r.tryRun()
	must(r.t, err)
	return run
}

// pod is the run's sandbox, nil if there is none. The Pod of an attempt before may still be there.
func (r *rig) pod() *corev1.Pod {
	r.t.Helper()
	name := "run-motor-sandbox"
	if run, err := r.tryRun(); err == nil {
		name = sandbox.CurrentPodName(run)
	}
	return r.podNamed(name)
}

func (r *rig) podNamed(name string) *corev1.Pod {
	r.t.Helper()
	pod := &corev1.Pod{}
	err := admin.Get(r.ctx, client.ObjectKey{Namespace: r.ns, Name: name}, pod)
	if client.IgnoreNotFound(err) != nil {
		r.t.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return pod
}

// play writes the Pod's status as a kubelet would.
func (r *rig) play(change func(*corev1.PodStatus)) {
	r.t.Helper()
	pod := r.pod()
	if pod == nil {
		r.t.Fatal("there is no sandbox Pod")
	}
	change(&pod.Status)
	must(r.t, admin.Status().Update(r.ctx, pod))
}

func running(st *corev1.PodStatus) {
	st.Phase = corev1.PodRunning
	st.PodIP, st.PodIPs = "10.1.2.3", []corev1.PodIP{{IP: "10.1.2.3"}}
	st.HostIP, st.HostIPs = "192.0.2.7", []corev1.HostIP{{IP: "192.0.2.7"}}
	container(corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}})(st)
}

func container(state corev1.ContainerState) func(*corev1.PodStatus) {
	return func(st *corev1.PodStatus) {
		st.ContainerStatuses = []corev1.ContainerStatus{{Name: sandbox.ContainerName, Image: "sandbox.example.org/image:1", State: state}}
	}
}

func waiting(reason string) func(*corev1.PodStatus) {
	return container(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "because"}})
}

// ready brings the run to a sandbox that runs.
func (r *rig) ready() {
	r.t.Helper()
	r.step()
	r.play(running)
	r.step()
}

// log is the journal of the run as its engine has it.
func (r *rig) log() *journal.Log {
	r.t.Helper()
	run := r.run()
	attempt := int32(1)
	if a := run.Status.LatestAttempt(); a != nil {
		attempt = a.Index
	}
	l, err := journal.Load(r.ctx, manager, manager, run, attempt, journal.Claim{Epoch: max(1, run.Status.Execution.Epoch), Worker: "replica-1"}, func() time.Time { return r.now })
	must(r.t, err)
	if pod := r.pod(); pod != nil {
		l.UseSandbox(v1alpha1.StepSandbox{PodUID: string(pod.UID), ServerKey: "sha256:key", IsolationTries: 3, IsolationMilliseconds: 40})
	}
	return l
}

// said appends a turn to the journal and settles what it has results for.
func (r *rig) said(step *turn.Turn) {
	r.t.Helper()
	l := r.log()
	results := slices.Clone(step.Results)
	must(r.t, l.Append(r.ctx, step))
	step.Results = results
	if len(results) > 0 {
		must(r.t, l.Settle(r.ctx, step))
	}
	if l.Ended() {
		must(r.t, l.Close(r.ctx, journal.Closing{}))
	}
}

// asked has the model ask, and gives the id of the question.
func (r *rig) asked(index int32, arguments string) string {
	r.t.Helper()
	r.said(turnAt(index, "", "ask_user:"+arguments))
	r.asks(v1alpha1.InputQuestion, 0)
	r.step()
	p := r.run().Status.Pending()
	if p == nil {
		r.t.Fatal("no question is pending")
	}
	return p.ID
}

// used settles the answer to what the last turn asks.
func (r *rig) used(answer string) {
	r.t.Helper()
	res := okResult(answer, 0)
	res.Provenance = "User"
	r.closed(turn.AskAnswered, "", res)
}

// failed has the loop end the attempt for a reason that another attempt may overcome.
func (r *rig) failed(reason string, out ...outcome.Outcome) {
	r.t.Helper()
	out = append(out, outcome.Outcome{})
	l := r.log()
	must(r.t, l.End(r.ctx, &outcome.Failure{Category: outcome.ToolFailure, Reason: reason, Message: "It failed.", Retryable: true}, out[0]))
	must(r.t, l.Close(r.ctx, journal.Closing{}))
}

// retry asks for another attempt after the one that failed, as the design tells people to.
func (r *rig) retry(attempt int, guidance string) {
	r.t.Helper()
	value, err := json.Marshal(v1alpha1.Response{ID: fmt.Sprintf("retry-%d", attempt), Decision: v1alpha1.DecisionRetry, Guidance: guidance})
	must(r.t, err)
	must(r.t, jsonPatch(r.ctx, r.run(), `[{"op":"add","path":"/spec/responses/-","value":`+string(value)+`}]`))
}

// attempts are "Cause Reason" of each attempt, the reason empty while it is open.
func (r *rig) attempts() []string {
	r.t.Helper()
	var list []string
	for i, a := range r.run().Status.Attempts {
		if int(a.Index) != i+1 || a.StartTime == nil || (a.Failure != nil) != (a.CompletionTime != nil) && a.Failure != nil {
			r.t.Errorf("attempt %d: %+v", i+1, a)
		}
		s := string(a.Cause)
		if a.Failure != nil {
			s += " " + a.Failure.Reason
		}
		list = append(list, s)
	}
	return list
}

func (r *rig) wantAttempts(want ...string) {
	r.t.Helper()
	if got := r.attempts(); !slices.Equal(got, want) {
		r.t.Errorf("attempts %q, want %q", got, want)
	}
}

// conditions are "Status Reason" by type.
func (r *rig) conditions() map[string]string {
	r.t.Helper()
	m := map[string]string{}
	for _, c := range r.run().Status.Conditions {
		m[c.Type] = string(c.Status) + " " + c.Reason
	}
	return m
}

// want compares the conditions that it names, and the phase.
func (r *rig) want(phase v1alpha1.RunPhase, conditions ...string) {
	r.t.Helper()
	run := r.run()
	if run.Status.Phase != phase {
		r.t.Errorf("phase %s, want %s", run.Status.Phase, phase)
	}
	got := r.conditions()
	for _, c := range conditions {
		name, value, _ := strings.Cut(c, " ")
		if got[name] != value {
			r.t.Errorf("condition %s is %q, want %q", name, got[name], value)
		}
	}
	r.wantReason(&run.Status)
}

// wantReason checks that status.reason is that of one of the conditions, and that what is waited for can be selected by.
func (r *rig) wantReason(st *v1alpha1.MotorRunStatus) {
	r.t.Helper()
	if !slices.ContainsFunc(st.Conditions, func(c metav1.Condition) bool { return c.Reason == st.Reason }) {
		r.t.Errorf("status.reason is %q, which no condition has", st.Reason)
	}
	waits := st.Phase == v1alpha1.PhaseAwaitingInput || st.Phase == v1alpha1.PhaseAwaitingApproval
	if waits != (st.PendingKind != "") || waits && st.PendingKind != st.Pending().Kind {
		r.t.Errorf("in phase %s status.pendingKind is %q", st.Phase, st.PendingKind)
	}
}

// wantEnd checks everything that an ended run has in common.
func (r *rig) wantEnd(phase v1alpha1.RunPhase, reason string) *v1alpha1.MotorRun {
	r.t.Helper()
	succeeded := "Succeeded False "
	if phase == v1alpha1.PhaseCompleted {
		succeeded = "Succeeded True "
	}
	r.want(phase, succeeded+reason, "Finished True "+reason, "AwaitingInput False RunEnded", "Reconciling False RunEnded")
	run := r.run()
	st := &run.Status
	if st.Reason != reason {
		r.t.Errorf("status.reason is %q, want %q", st.Reason, reason)
	}
	if st.Result == nil || st.CompletionTime == nil || st.Pending() != nil {
		r.t.Fatalf("result %v, finished at %v, pending %v", st.Result, st.CompletionTime, st.Pending())
	}
	if st.Result.OK != (phase == v1alpha1.PhaseCompleted) {
		r.t.Errorf("result is ok: %t", st.Result.OK)
	}
	last := st.Attempts[len(st.Attempts)-1]
	if last.CompletionTime == nil || phase == v1alpha1.PhaseFailed && last.Failure == nil || phase == v1alpha1.PhaseCompleted && last.Failure != nil {
		r.t.Errorf("attempts %+v", st.Attempts)
	}
	if stalled := apimeta.IsStatusConditionTrue(st.Conditions, v1alpha1.ConditionStalled); stalled == (phase == v1alpha1.PhaseCompleted) {
		r.t.Errorf("Stalled is %t", stalled)
	}
	if pod := r.pod(); pod != nil && metav1.IsControlledBy(pod, run) && pod.DeletionTimestamp == nil {
		r.t.Error("the sandbox is still there")
	}
	return run
}

// patchSpec changes the spec as a person would.
func (r *rig) patchSpec(spec string) {
	r.t.Helper()
	must(r.t, mergePatch(r.ctx, &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: r.key.Name, Namespace: r.ns}}, `{"spec":`+spec+`}`))
}
