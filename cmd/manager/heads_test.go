// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/oneshot"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/sandbox"
	"motorcortex.dev/motorcortex/internal/storage"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// longRequest returns a request for a domain of so many bytes.
func longRequest(size int) string {
	r := `{"domain":"example.org","reason":"it is needed"}`
	return r + strings.Repeat(" ", size-len(r))
}

func bigStep(final bool) *v1alpha1.MotorStep {
	long := strings.Repeat("漢字<\x01", 20_000)
	return &v1alpha1.MotorStep{
		ObjectMeta: metav1.ObjectMeta{
			Name: "run-a01-s0001", UID: "12345678-9abc", Labels: map[string]string{"a": "b", v1alpha1.LabelRun: "run"}, CreationTimestamp: metav1.NewTime(time.Unix(1700000000, 0)),
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}},
		},
		Spec: v1alpha1.MotorStepSpec{
			Type: v1alpha1.StepTurn, Index: 1, Epoch: 1, Model: "m", Content: long, Final: final, ModelMilliseconds: 5,
			Usage:   v1alpha1.Usage{PromptTokens: 1, TotalTokens: 1},
			Sandbox: &v1alpha1.StepSandbox{PodUID: "p", IsolationTries: 3},
			ToolCalls: []v1alpha1.ToolCall{
				{ID: "c0", Tool: "bash", Arguments: long},
				{ID: "c1", Tool: "ask_user", Arguments: `{"question":"Which?","options":["a"]}`},
				{ID: "c2", Tool: "bash", Arguments: " \n" + long},
				{ID: "c3", Tool: "request_domain", Arguments: longRequest(runpolicy.MaxRequestDomainBytes)},
				{ID: "c4", Tool: "request_domain", Arguments: longRequest(runpolicy.MaxRequestDomainBytes + 1)},
			},
		},
		Status: v1alpha1.MotorStepStatus{
			ToolMilliseconds: 7, Results: []v1alpha1.ToolResult{{CallID: "c0", OK: true, Output: long, DurationMilliseconds: 7}},
			Unknown: []v1alpha1.UnknownExecution{{Execution: "c2", CallID: "c2", Policy: "Person"}},
			Asks:    []v1alpha1.StepAsk{{ID: "d", Kind: v1alpha1.InputDomainRequest, CallID: "c3", Execution: "c3", Domain: "example.org"}},
		},
	}
}

// withoutCalls compares progress without the parts that need whole steps, which the controller reads where it needs them. Those are the calls, for
// the context of a recovery, and the arguments of an accepted finish call.
var withoutCalls = cmpopts.IgnoreFields(runpolicy.Progress{}, "Calls", "Claimed", "Accepted")

// The controller shows the same of a run, whether it reads whole steps or their heads.
func TestStepHeadIsEnoughForTheController(t *testing.T) {
	t.Parallel()
	run := &v1alpha1.MotorRun{Spec: v1alpha1.MotorRunSpec{
		Tools: []v1alpha1.ToolName{"request_domain"}, Limits: v1alpha1.RunLimits{InputDeadlineSeconds: 30},
	}}
	for _, final := range []bool{false, true} {
		whole := bigStep(final)
		o, err := stepHead(bigStep(final))
		if err != nil {
			t.Fatal(err)
		}
		head := o.(*v1alpha1.MotorStep)
		want := runpolicy.ReadJournal(run, []v1alpha1.MotorStep{*whole})
		if want.Final != nil {
			want.Final = new(fit.CutEncoded(*want.Final, headContent))
		}
		got := runpolicy.ReadJournal(run, []v1alpha1.MotorStep{*head})
		if got.Final != nil {
			got.Final = new(fit.CutEncoded(*got.Final, headContent))
		}
		if len(got.DomainRequests) != 1 {
			t.Errorf("final %t: the requests for domains are %+v", final, got.DomainRequests)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), withoutCalls); diff != "" {
			t.Errorf("final %t: the head gives another progress (-whole +head):\n%s", final, diff)
		}
	}
}

// So is the result of a Oneshot run, whatever its code came to.
func TestStepHeadOfAOneshot(t *testing.T) {
	t.Parallel()
	run := &v1alpha1.MotorRun{Spec: v1alpha1.MotorRunSpec{Mode: v1alpha1.ModeOneshot}}
	long := strings.Repeat("漢字< ", 2000)
	for name, r := range map[string]v1alpha1.ToolResult{
		"short":            {OK: true, Output: `{"ok":true,"value":7}`},
		"longer":           {OK: true, Output: `{"ok":true,"value":"` + long[:3000] + `"}`},
		"a long console":   {OK: true, Output: `{"ok":true,"value":7,"console":"` + long + `"}`},
		"a long value":     {OK: true, Output: `{"ok":true,"value":"` + long + `"}`},
		"a long error":     {ErrorCode: "execution_error", Output: `{"ok":false,"error":{"code":"EXECUTION_ERROR","message":"` + long + `"}}`},
		"an unknown end":   {ErrorCode: "outcome_unknown", Output: long},
		"no sandbox's way": {ErrorCode: "internal", Output: long},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r.CallID = "c0"
			whole := &v1alpha1.MotorStep{
				Spec:   v1alpha1.MotorStepSpec{Type: v1alpha1.StepTurn, ToolCalls: []v1alpha1.ToolCall{{ID: "c0", Tool: "oneshot"}}},
				Status: v1alpha1.MotorStepStatus{Results: []v1alpha1.ToolResult{r}},
			}
			o, err := stepHead(whole.DeepCopy())
			if err != nil {
				t.Fatal(err)
			}
			head := o.(*v1alpha1.MotorStep)
			if n := len(head.Status.Results[0].Output); n > oneshot.MaxValueBytes {
				t.Errorf("the head has %d bytes of output", n)
			}
			want, got := runpolicy.ReadJournal(run, []v1alpha1.MotorStep{*whole}), runpolicy.ReadJournal(run, []v1alpha1.MotorStep{*head})
			if diff := cmp.Diff(want, got, withoutCalls); diff != "" || (got.Final == nil) == (got.Failure == nil) {
				t.Errorf("the head gives another progress (-whole +head):\n%s", diff)
			}
		})
	}
}

// What is cut off counts for the budget of the namespace.
func TestHeadsKnowTheSizeOfTheWhole(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("x", 100_000)
	run := &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{Name: "r", Annotations: map[string]string{"a": content}},
		Spec:       v1alpha1.MotorRunSpec{Files: []v1alpha1.InputFile{{Path: "in.txt", Content: &content}}},
		Status:     v1alpha1.MotorRunStatus{Conditions: []metav1.Condition{{Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionTrue}}},
	}
	waits := run.DeepCopy()
	waits.Status.Conditions[0].Status = metav1.ConditionFalse
	step := bigStep(false)
	for name, tt := range map[string]struct {
		head func(any) (any, error)
		o    any
		want int64
	}{
		"run":                    {runHead, run.DeepCopy(), storage.OfRun(run)},
		"run that has not begun": {runHead, waits, 0},
		"step":                   {stepHead, step.DeepCopy(), storage.OfStep(step)},
	} {
		head, err := tt.head(tt.o)
		if err != nil {
			t.Fatal(err)
		}
		if got := storage.Of(head); got != tt.want || name != "run that has not begun" && got < 200_000 {
			t.Errorf("%s: the head tells of %d bytes, want %d", name, got, tt.want)
		}
	}
}

// The text of an approval is made from the whole call, and the whole call is retained no longer than that.
func TestStepHeadKeepsWhatIsDecidedAbout(t *testing.T) {
	t.Parallel()
	step := func() *v1alpha1.MotorStep {
		s := bigStep(false)
		s.Status.Asks = []v1alpha1.StepAsk{{ID: "a", Kind: v1alpha1.InputApproval, Execution: "c0", CallID: "c0", Digest: "sha256:0"}}
		s.Status.Results = nil
		return s
	}
	head := func(s *v1alpha1.MotorStep) *v1alpha1.MotorStep {
		o, err := stepHead(s)
		if err != nil {
			t.Fatal(err)
		}
		return o.(*v1alpha1.MotorStep)
	}
	run := &v1alpha1.MotorRun{Spec: v1alpha1.MotorRunSpec{Approval: &v1alpha1.RunApproval{Required: v1alpha1.ApprovalAlways}}}
	want := runpolicy.ReadJournal(run, []v1alpha1.MotorStep{*step()}).Pending
	if diff := cmp.Diff(want, runpolicy.ReadJournal(run, []v1alpha1.MotorStep{*head(step())}).Pending); diff != "" || want.Kind != v1alpha1.InputApproval {
		t.Errorf("the head gives another question (-whole +head):\n%s", diff)
	}
	for name, change := range map[string]func(*v1alpha1.MotorStep){
		"decided":       func(s *v1alpha1.MotorStep) { s.Status.Asks[0].Outcome = v1alpha1.AskApproved },
		"has a result":  func(s *v1alpha1.MotorStep) { s.Status.Results = []v1alpha1.ToolResult{{CallID: "c0"}} },
		"about another": func(s *v1alpha1.MotorStep) { s.Status.Asks[0].CallID = "c2" },
	} {
		s := step()
		change(s)
		if n := utf8.RuneCountInString(head(s).Spec.ToolCalls[0].Arguments); n != headArguments {
			t.Errorf("%s: %d characters of arguments", name, n)
		}
	}
}

func TestRunHeadHasNoFileContents(t *testing.T) {
	t.Parallel()
	run := &v1alpha1.MotorRun{Spec: v1alpha1.MotorRunSpec{Task: "t", Files: []v1alpha1.InputFile{
		{Path: "a", Content: new(strings.Repeat("x", 1<<18))}, {Path: "b", ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: "c", Key: "k"}},
	}, Responses: []v1alpha1.Response{{ID: "q", Answer: "here", Files: []v1alpha1.ResponseFile{
		{Path: "a", Content: new(strings.Repeat("x", 1<<17))}, {Path: "b", BinaryContent: make([]byte, 1<<17)}, {Path: "c", ArtifactRef: &v1alpha1.ArtifactRef{RunName: "r", Path: "p"}},
	}}}}}
	o, err := runHead(run)
	if err != nil {
		t.Fatal(err)
	}
	want := []v1alpha1.InputFile{{Path: "a", Content: new("")}, {Path: "b", ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: "c", Key: "k"}}}
	if diff := cmp.Diff(want, o.(*v1alpha1.MotorRun).Spec.Files); diff != "" {
		t.Errorf("files of the head (-want +got):\n%s", diff)
	}
	answer := v1alpha1.Response{ID: "q", Answer: "here", Files: []v1alpha1.ResponseFile{
		{Path: "a"}, {Path: "b"}, {Path: "c", ArtifactRef: &v1alpha1.ArtifactRef{RunName: "r", Path: "p"}},
	}}
	if diff := cmp.Diff([]v1alpha1.Response{answer}, o.(*v1alpha1.MotorRun).Spec.Responses); diff != "" {
		t.Errorf("responses of the head (-want +got):\n%s", diff)
	}
}

// The cache has every finished run for as long as it is retained. What only a loop reads of it would be most of its memory.
func TestRunHeadHasTheTaskUntilTheRunHasEnded(t *testing.T) {
	t.Parallel()
	for status, want := range map[metav1.ConditionStatus]string{metav1.ConditionFalse: "count", metav1.ConditionTrue: ""} {
		conditions := []metav1.Condition{
			{Type: v1alpha1.ConditionFinished, Status: status, Reason: "Completed", Message: "Done."},
			{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionTrue, Reason: "Completed", Message: strings.Repeat("Other words. ", 50)},
		}
		run := &v1alpha1.MotorRun{Spec: v1alpha1.MotorRunSpec{Task: "count"}, Status: v1alpha1.MotorRunStatus{Conditions: slices.Clone(conditions)}}
		whole := storage.Of(run)
		o, err := runHead(run)
		if err != nil {
			t.Fatal(err)
		}
		head := o.(*v1alpha1.MotorRun)
		if head.Spec.Task != want {
			t.Errorf("Finished=%s: the task is %q", status, head.Spec.Task)
		}
		if diff := cmp.Diff(conditions, head.Status.Conditions); diff != "" {
			t.Errorf("Finished=%s (-want +got):\n%s", status, diff)
		}
		if size := storage.Of(head); size != whole {
			t.Errorf("Finished=%s: the budget counts %d bytes of %d", status, size, whole)
		}
	}
}

func TestSkillHeadHasNoFileContents(t *testing.T) {
	t.Parallel()
	spec := v1alpha1.SkillSpec{
		Source: &v1alpha1.SkillSource{Files: []v1alpha1.SkillFile{{Path: "SKILL.md", Content: strings.Repeat("x", 1<<18)}, {Path: "scripts/a", Content: "y", Executable: true}}},
		Policy: v1alpha1.SkillPolicy{Tools: []v1alpha1.ToolName{"bash"}},
	}
	want := *spec.DeepCopy()
	want.Source.Files[0].Content, want.Source.Files[1].Content = "", ""
	for _, s := range []v1alpha1.SkillSpec{spec, {}} {
		o, err := skillHead(&v1alpha1.Skill{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{}}}, Spec: s})
		if err != nil {
			t.Fatal(err)
		}
		if s.Source == nil {
			want = s
		}
		if diff := cmp.Diff(&v1alpha1.Skill{Spec: want}, o); diff != "" {
			t.Errorf("the head (-want +got):\n%s", diff)
		}
	}
}

func TestConfigMapHead(t *testing.T) {
	t.Parallel()
	owner := []metav1.OwnerReference{{Kind: "SkillRevision", Name: "send-0123", UID: "u", Controller: new(true)}}
	m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: "c", Namespace: "n", UID: "u", ResourceVersion: "7", OwnerReferences: owner, ManagedFields: []metav1.ManagedFieldsEntry{{}},
		Labels:      map[string]string{v1alpha1.LabelSkill: "send", v1alpha1.LabelComponent: v1alpha1.ComponentPackages, "a": "b"},
		Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: strings.Repeat("x", 1<<18)},
	}}
	o, err := configMapHead(m.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	want := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: "c", Namespace: "n", UID: "u", ResourceVersion: "7", OwnerReferences: owner,
		Labels: map[string]string{v1alpha1.LabelSkill: "send", v1alpha1.LabelComponent: v1alpha1.ComponentPackages},
	}}
	if diff := cmp.Diff(want, o); diff != "" {
		t.Errorf("the head (-want +got):\n%s", diff)
	}
	m.Labels = map[string]string{"a": "b"}
	if o, err = configMapHead(m); err != nil || o.(*metav1.PartialObjectMetadata).Labels != nil {
		t.Errorf("the head of another is %+v, %v", o, err)
	}
}

// Signals have the line in which the model says what it does, and the cache keeps no more of an answer.
func TestStepHeadHasTheStatement(t *testing.T) {
	t.Parallel()
	for kind, want := range map[v1alpha1.StepType]string{v1alpha1.StepTurn: "I count.", v1alpha1.StepSummary: "", v1alpha1.StepEnd: "\n I count. \nThen I sum."} {
		s := &v1alpha1.MotorStep{Spec: v1alpha1.MotorStepSpec{Type: kind, Content: "\n I count. \nThen I sum."}}
		if _, err := stepHead(s); err != nil || s.Spec.Content != want {
			t.Errorf("%s: %q, %v", kind, s.Spec.Content, err)
		}
	}
}

// A cut leaves nearly all of a token, which no rule finds any more.
func TestAStatementIsSearchedBeforeItIsCut(t *testing.T) {
	t.Parallel()
	const token = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
	for pad := range 90 {
		line := strings.Repeat("y", 120+pad) + " " + token + strings.Repeat(" and more", 12)
		s := &v1alpha1.MotorStep{Spec: v1alpha1.MotorStepSpec{Type: v1alpha1.StepTurn, Content: line}}
		if _, err := stepHead(s); err != nil || strings.Contains(s.Spec.Content, token[:10]) || s.Spec.Content == "" {
			t.Errorf("%d characters before the token: %q, %v", 121+pad, s.Spec.Content, err)
		}
	}
	// A line that is not cut is searched when it is told.
	s := &v1alpha1.MotorStep{Spec: v1alpha1.MotorStepSpec{Type: v1alpha1.StepTurn, Content: token}}
	if _, err := stepHead(s); err != nil || s.Spec.Content != token {
		t.Errorf("%q, %v", s.Spec.Content, err)
	}
}

func TestStepHeadIsSmall(t *testing.T) {
	t.Parallel()
	for _, final := range []bool{false, true} {
		o, err := stepHead(bigStep(final))
		if err != nil {
			t.Fatal(err)
		}
		s := o.(*v1alpha1.MotorStep)
		if s.ManagedFields != nil || s.Labels[v1alpha1.LabelRun] != "run" || s.UID == "" {
			t.Errorf("metadata %+v", s.ObjectMeta)
		}
		if n := utf8.RuneCountInString(s.Spec.Content); final && n != headContent || !final && n != headStatement {
			t.Errorf("final %t: %d characters of content", final, n)
		}
		if n := utf8.RuneCountInString(s.Spec.ToolCalls[0].Arguments); n != headArguments || !strings.HasSuffix(s.Spec.ToolCalls[1].Arguments, "}") {
			t.Errorf("%d characters of arguments; the question is %q", n, s.Spec.ToolCalls[1].Arguments)
		}
		if whole, tooLong := len(s.Spec.ToolCalls[3].Arguments), len(s.Spec.ToolCalls[4].Arguments); whole != runpolicy.MaxRequestDomainBytes || tooLong >= whole {
			t.Errorf("%d and %d bytes of the requests for domains", whole, tooLong)
		}
		if n := utf8.RuneCountInString(s.Status.Results[0].Output); n != headOutput {
			t.Errorf("%d characters of output", n)
		}
		again, err := stepHead(s.DeepCopy())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s, again); diff != "" {
			t.Errorf("the head of a head is another one:\n%s", diff)
		}
	}
}

func TestNodeHead(t *testing.T) {
	t.Parallel()
	n := corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", Annotations: map[string]string{"a": "b"}, ManagedFields: []metav1.ManagedFieldsEntry{{}}},
		Spec:       corev1.NodeSpec{Unschedulable: true},
		Status: corev1.NodeStatus{
			Images:          []corev1.ContainerImage{{Names: []string{"i"}}},
			RuntimeHandlers: []corev1.NodeRuntimeHandler{{Features: &corev1.NodeRuntimeHandlerFeatures{UserNamespaces: new(true)}}},
		},
	}
	o, err := nodeHead(n.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	want := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: corev1.NodeSpec{Unschedulable: true},
		Status: corev1.NodeStatus{RuntimeHandlers: n.Status.RuntimeHandlers},
	}
	if diff := cmp.Diff(want, o); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	usable := *o.(*corev1.Node)
	usable.Spec.Unschedulable = false
	if !sandbox.SupportsUserNamespaces([]corev1.Node{usable}) {
		t.Error("the head does not say that the node supports user namespaces")
	}
}

// A transform gets tombstones too.
func TestHeadsLeaveOtherObjectsAlone(t *testing.T) {
	t.Parallel()
	for _, o := range []any{cache.DeletedFinalStateUnknown{Key: "k"}, &corev1.Pod{}, nil} {
		for name, head := range map[string]func(any) (any, error){
			"step": stepHead, "node": nodeHead, "run": runHead, "skill": skillHead, "configMap": configMapHead, "policy": policyHead, "revision": revisionHead, "any": anyHead,
		} {
			got, err := head(o)
			if err != nil || !cmp.Equal(got, o) {
				t.Errorf("%s: %v gives %v, %v", name, o, got, err)
			}
		}
	}
}

// So is that of a run that installs packages.
func TestStepHeadOfAnInstallation(t *testing.T) {
	t.Parallel()
	run := &v1alpha1.MotorRun{Spec: v1alpha1.MotorRunSpec{Mode: v1alpha1.ModeInstall}}
	done := toolapi.Installed{SHA256: strings.Repeat("0a", 32), Size: 7, Packages: []string{strings.Repeat("x", 3000)}}
	for i := range 32 {
		done.ConfigMaps = append(done.ConfigMaps, fmt.Sprintf("%s-packages-0123456789ab-%d", strings.Repeat("n", 60), i))
	}
	for name, r := range map[string]v1alpha1.ToolResult{
		"installed": {OK: true, Output: text.JSON(done)},
		"failed":    {ErrorCode: toolapi.CodeInstallFailed, Output: strings.Repeat("npm error ", 200)},
	} {
		r.CallID = "c0"
		whole := &v1alpha1.MotorStep{
			Spec:   v1alpha1.MotorStepSpec{Type: v1alpha1.StepTurn, ToolCalls: []v1alpha1.ToolCall{{ID: "c0", Tool: toolapi.ToolInstall}}},
			Status: v1alpha1.MotorStepStatus{Results: []v1alpha1.ToolResult{r}},
		}
		o, err := stepHead(whole.DeepCopy())
		if err != nil {
			t.Fatal(err)
		}
		want, got := runpolicy.ReadJournal(run, []v1alpha1.MotorStep{*whole}), runpolicy.ReadJournal(run, []v1alpha1.MotorStep{*o.(*v1alpha1.MotorStep)})
		if diff := cmp.Diff(want, got, withoutCalls); diff != "" || (want.Packages == nil) == (name == "installed") {
			t.Errorf("%s: the head gives another progress (-whole +head):\n%s", name, diff)
		}
	}
}
