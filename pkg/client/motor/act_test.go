// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	k8stesting "k8s.io/client-go/testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/pkg/client/motor/inputs"
)

func TestRunOfAnAct(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		act  Act
		want string // the spec as JSON
		err  string
	}{
		"a task":            {Act{Task: "x"}, `{"mode":"Agentic","task":"x"}`, ""},
		"a skill":           {Act{Task: "x", Skill: "mail", Inputs: map[string]string{"to": "b", "a": "1"}}, `{"mode":"Agentic","task":"x","skillRef":{"name":"mail"},"inputs":[{"name":"a","value":"1"},{"name":"to","value":"b"}]}`, ""},
		"with approval":     {Act{Task: "x", ApprovalRequired: true}, `{"mode":"Agentic","task":"x","approval":{"required":"Irreversible"}}`, ""},
		"limits":            {Act{Task: "x", MaxIterations: 5, Timeout: 90 * time.Second}, `{"mode":"Agentic","task":"x","limits":{"maxIterations":5,"activeDeadlineSeconds":90}}`, ""},
		"a program":         {Act{Mode: v1alpha1.ModeOneshot, Task: "1+1", Timeout: time.Second}, `{"mode":"Oneshot","code":{"language":"javascript","source":"1+1","timeoutMilliseconds":1000}}`, ""},
		"no task":           {Act{Task: " "}, "", "the task is empty"},
		"an odd mode":       {Act{Mode: v1alpha1.ModeInstall, Task: "x"}, "", "none of Agentic and Oneshot"},
		"a program's tools": {Act{Mode: v1alpha1.ModeOneshot, Task: "x", Tools: []v1alpha1.ToolName{"bash"}}, "", "nothing else"},
		"inputs alone":      {Act{Task: "x", Inputs: map[string]string{"a": "b"}}, "", "go with a skill"},
		"a language":        {Act{Task: "x", Language: "python"}, "", "goes with a Oneshot"},
		"too short":         {Act{Task: "x", Timeout: time.Millisecond}, "", "not 1s to 24h"},
		"too long a code":   {Act{Mode: v1alpha1.ModeOneshot, Task: "x", Timeout: time.Hour}, "", "not 100ms to 5s"},
	} {
		run, err := tt.act.run("ns")
		if tt.err != "" {
			wantError(t, err, tt.err)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, _ := json.Marshal(run.Spec); string(got) != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

func TestANamespaceThatIsBusy(t *testing.T) {
	t.Parallel()
	accepted := func(run *v1alpha1.MotorRun) {
		run.Status.Conditions = append(run.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionTrue})
	}
	older := func(run *v1alpha1.MotorRun) { run.CreationTimestamp = metav1.Unix(1, 0) }
	spec := func(change func(*v1alpha1.MotorRunSpec)) func(*v1alpha1.MotorRun) {
		return func(run *v1alpha1.MotorRun) { change(&run.Spec) }
	}
	one := &v1alpha1.Concurrency{MaxActive: 1, WhenBusy: v1alpha1.BusyQueue}
	for name, tt := range map[string]struct {
		bound *v1alpha1.Concurrency
		queue bool
		runs  []runtime.Object
		want  string // the run that is named
	}{
		"no bound":            {nil, false, []runtime.Object{aRun("a", accepted)}, ""},
		"a place":             {&v1alpha1.Concurrency{MaxActive: 2}, false, []runtime.Object{aRun("a", accepted)}, ""},
		"none":                {one, false, []runtime.Object{aRun("b", accepted), aRun("a", accepted, older)}, "a"},
		"waits by choice":     {one, true, []runtime.Object{aRun("a", accepted)}, ""},
		"may not wait":        {&v1alpha1.Concurrency{MaxActive: 1, WhenBusy: v1alpha1.BusyReject}, true, []runtime.Object{aRun("a", accepted)}, "a"},
		"it was just created": {one, false, []runtime.Object{aRun("a")}, "a"},
		"it has ended":        {one, false, []runtime.Object{aRun("a", accepted, ended(true))}, ""},
		"it is a program":     {one, false, []runtime.Object{aRun("a", accepted, spec(func(s *v1alpha1.MotorRunSpec) { s.Mode = v1alpha1.ModeOneshot }))}, ""},
		"it never began":      {one, false, []runtime.Object{aRun("a", spec(func(s *v1alpha1.MotorRunSpec) { s.Suspend = true }))}, ""},
		"it is suspended":     {one, false, []runtime.Object{aRun("a", accepted, spec(func(s *v1alpha1.MotorRunSpec) { s.Suspend = true }))}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cortex := &v1alpha1.MotorCortex{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: "ns"}, Spec: v1alpha1.MotorCortexSpec{Concurrency: tt.bound}}
			r := newRig(t, tt.runs...)
			// The fake guesses the plural of an object that it is made with.
			if _, err := r.motor.MotorCortexV1alpha1().MotorCortices("ns").Create(t.Context(), cortex, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			_, err := r.Act(t.Context(), Act{Task: "x", Queue: tt.queue})
			busy, is := errors.AsType[*BusyError](err)
			if is != (tt.want != "") || !is && err != nil || is && (busy.Runs[0] != tt.want || busy.Namespace != "ns") {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

func TestAProgramReturnsItsResult(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		value string
		want  string
	}{
		"a value":      {`{"ok":true,"value":{"a":1},"console":"hi","durationMs":7}`, `{"ok":true,"value":{"a":1},"console":"hi","durationMs":7}`},
		"an error":     {`{"ok":false,"error":{"code":"EXECUTION_ERROR","message":"x"}}`, `{"ok":false,"durationMs":0,"error":{"code":"EXECUTION_ERROR","message":"x"}}`},
		"it never ran": {"", `{"ok":false,"durationMs":0,"error":{"code":"Stuck","message":"It is stuck."}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			// The operator carries it out at once.
			r.motor.PrependReactor("create", "motorruns", func(a k8stesting.Action) (bool, runtime.Object, error) {
				run := a.(k8stesting.CreateAction).GetObject().(*v1alpha1.MotorRun)
				run.Name, run.UID = "run-1", "u"
				ended(tt.value != "")(run)
				run.Status.Message, run.Status.Result.Value = "It is stuck.", tt.value
				return false, nil, nil
			})
			acted, err := r.Act(t.Context(), Act{Mode: v1alpha1.ModeOneshot, Task: "x"})
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := json.Marshal(acted.Oneshot); string(got) != tt.want || acted.Run != "run-1" {
				t.Errorf("%s of %s, want %s", got, acted.Run, tt.want)
			}
		})
	}
}

// Large files are beside the run, so that a write of its status does not store them again.
func TestAnActKeepsLargeFilesBesideTheRun(t *testing.T) {
	t.Parallel()
	for name, permitted := range map[string]bool{"it may make ConfigMaps": true, "it may not": false} {
		r := newRig(t)
		r.motor.PrependReactor("create", "motorruns", func(action k8stesting.Action) (bool, runtime.Object, error) {
			run := action.(k8stesting.CreateAction).GetObject().(*v1alpha1.MotorRun)
			run.Name, run.UID = "run-x", "uid"
			return false, nil, nil
		})
		if !permitted {
			r.core.PrependReactor("create", "configmaps", func(k8stesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("no") })
		}
		acted, err := r.Act(t.Context(), Act{Task: "x", Files: []v1alpha1.InputFile{{Path: "a", Content: new(strings.Repeat("x", inputs.InlineBytes+1))}}})
		if err != nil || acted.Run != "run-x" || acted.FilesUnowned != "" {
			t.Errorf("%s: %+v, %v", name, acted, err)
			continue
		}
		maps, err := r.core.CoreV1().ConfigMaps("ns").List(t.Context(), metav1.ListOptions{LabelSelector: v1alpha1.LabelComponent + "=" + v1alpha1.ComponentInputs})
		if err != nil {
			t.Fatal(err)
		}
		if inline := r.run("run-x").Spec.Files[0].Content != nil; inline == permitted || (len(maps.Items) == 1) != permitted {
			t.Errorf("%s: in the run: %t, %d ConfigMaps", name, inline, len(maps.Items))
		}
		if permitted && (len(maps.Items[0].OwnerReferences) != 1 || maps.Items[0].OwnerReferences[0].UID != "uid") {
			t.Errorf("%s: owners %+v", name, maps.Items[0].OwnerReferences)
		}
	}
}
