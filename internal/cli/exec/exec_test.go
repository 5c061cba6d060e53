// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

// rig is a cluster in which each run comes to the same at once.
type rig struct {
	client.WithWatch
	status  v1alpha1.MotorRunStatus
	refuses error
	created *v1alpha1.MotorRun
	in      io.Reader
	// leaves is after how long the person interrupts the command, a minute if it is not set.
	leaves  time.Duration
	streams verb.Streams
}

func newRig(t *testing.T, value string) *rig {
	t.Helper()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{in: strings.NewReader("1 + 1\n")}
	r.ends(metav1.ConditionTrue, "Completed", value)
	r.WithWatch = fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			run := o.(*v1alpha1.MotorRun)
			r.created = run.DeepCopy()
			run.Name, run.UID, run.Status = "exec-x", "uid", r.status
			return errors.Join(r.refuses, c.Create(ctx, run, opts...))
		},
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("steps are not needed")
		},
	}).Build()
	return r
}

func (r *rig) ends(succeeded metav1.ConditionStatus, reason, value string) {
	r.status = v1alpha1.MotorRunStatus{
		Reason: reason, Message: "It is\x1b[2J so.", CompletionTime: new(metav1.Now()),
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: succeeded}},
		Result:     &v1alpha1.RunResult{Value: value},
	}
}

// does carries out the verb.
func (r *rig) does(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(r.leaves, time.Minute))
	defer cancel()
	var o, e strings.Builder
	s := r.streams
	s.In, s.Out, s.Err = r.in, &o, &e
	p := verb.Program(s, "kubectl-motor", "kubectl motor", "Test.", New(s, func() (client.WithWatch, string, error) { return r.WithWatch, "ns", nil }))
	code = verb.Run(ctx, p, append([]string{"exec"}, args...))
	return code, o.String(), e.String()
}

func TestTheRunIsThatOfTheFlags(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "rates.PY")
	if err := os.WriteFile(file, []byte("2 + 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		args []string
		name string
		want v1alpha1.MotorRunSpec
	}{
		"from a pipe": {[]string{"--language", "javascript"}, "", v1alpha1.MotorRunSpec{Mode: v1alpha1.ModeOneshot, Code: &v1alpha1.Code{Language: "javascript", Source: "1 + 1\n"}}},
		"from a file": {
			[]string{file, "--domains", "a.example.org,b.example.org", "--code-timeout", "20s", "--name", "rates"}, "rates",
			v1alpha1.MotorRunSpec{Mode: v1alpha1.ModeOneshot, Code: &v1alpha1.Code{Language: "python", Source: "2 + 2\n", TimeoutMilliseconds: 20000}, Domains: []v1alpha1.Domain{"a.example.org", "b.example.org"}},
		},
		"of another language": {[]string{"-", "--language", "python", "--code-timeout", "100ms"}, "", v1alpha1.MotorRunSpec{Mode: v1alpha1.ModeOneshot, Code: &v1alpha1.Code{Language: "python", Source: "1 + 1\n", TimeoutMilliseconds: 100}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, `{"ok":true,"value":2}`)
			if code, out, errs := r.does(t, tt.args...); code != verb.ExitOK || out != "2\n" || errs != "" {
				t.Errorf("exit code %d, %q, %q", code, out, errs)
			}
			if diff := gocmp.Diff(tt.want, r.created.Spec); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if r.created.Name != tt.name || r.created.Namespace != "ns" || (r.created.GenerateName == "exec-") != (tt.name == "") {
				t.Errorf("the run is %+v", r.created.ObjectMeta)
			}
		})
	}
}

func TestWhatTheCodeCameTo(t *testing.T) {
	t.Parallel()
	const failed = `{"ok":false,"console":"one\u001b[2J\n","error":{"code":"EXECUTION_ERROR","message":"x is\u0007 not defined"}}`
	for name, tt := range map[string]struct {
		value     string
		succeeded metav1.ConditionStatus
		screen    bool
		args      string
		code      int
		out, errs string
	}{
		"a value":             {`{"ok":true,"value":{"a":"\u001b<\u202e"},"console":"hi\n","durationMs":3}`, metav1.ConditionTrue, false, "", 0, `{"a":"\u001b<\u202e"}` + "\n", "hi\n"},
		"a value on a screen": {`{"ok":true,"value":"a` + "\u202e" + `b"}`, metav1.ConditionTrue, true, "", 0, `"a\u202eb"` + "\n", ""},
		"no value":            {`{"ok":true}`, metav1.ConditionTrue, false, "", 0, "null\n", ""},
		"a value too long":    {`{"ok":true,"head":"[1,","truncated":true}`, metav1.ConditionTrue, false, "", 1, "", "error: the value is too long to be kept: have the code return less. It begins with\n  | [1,\n"},
		"a console too long":  {`{"ok":true,"value":1,"truncated":true}`, metav1.ConditionTrue, false, "", 0, "1\n", "note: what the code printed is cut off\n"},
		"an error":            {failed, metav1.ConditionFalse, false, "", 1, "", "one\\u001b[2J\nerror: EXECUTION_ERROR: x is\\u0007 not defined\n"},
		"an error as an object": {
			failed, metav1.ConditionFalse, false, "-o jsonl", 1, `{"ok":false,"console":"one\u001b[2J\n","error":{"code":"EXECUTION_ERROR","message":"x is\u0007 not defined"}}` + "\n", "",
		},
		"a value as an object":  {`{"ok":true,"value":[1]}`, metav1.ConditionTrue, false, "-o yaml", 0, "ok: true\nvalue:\n- 1\n", ""},
		"no sandbox":            {"", metav1.ConditionFalse, false, "", 1, "", "error: Timeout: It is\\u001b[2J so.\n"},
		"no sandbox, an object": {"", metav1.ConditionFalse, false, "-o json", 1, "{\n    \"ok\": false,\n    \"error\": {\n        \"code\": \"Timeout\",\n        \"message\": \"It is\\u001b[2J so.\"\n    }\n}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "")
			r.ends(tt.succeeded, "Timeout", tt.value)
			r.streams.Screen = tt.screen
			code, out, errs := r.does(t, append(strings.Fields(tt.args), "--language", "javascript")...)
			if code != tt.code || out != tt.out || errs != tt.errs {
				t.Errorf("exit code %d, prints\n%s\nand\n%s", code, out, errs)
			}
		})
	}
}

// A script must not take a cluster that does not answer for code that failed.
func TestWhatKeepsTheCodeFromRunning(t *testing.T) {
	t.Parallel()
	runs := schema.GroupResource{Group: "motorcortex.dev", Resource: "motorruns"}
	for name, tt := range map[string]struct {
		change func(*rig)
		args   string
		code   int
		says   string
	}{
		"no language":       {nil, "", verb.ExitMisused, "give --language javascript or python"},
		"another language":  {nil, "--language ruby", verb.ExitMisused, `"ruby" is none of javascript, python`},
		"too much time":     {nil, "--language python --code-timeout 6s", verb.ExitMisused, "not from 100ms to 5s"},
		"far too much time": {nil, "--language python --code-timeout 31s --domains example.org", verb.ExitMisused, "not from 100ms to 30s"},
		"no such file":      {nil, "gone.py", verb.ExitMisused, "open gone.py: no such file"},
		"a folder":          {nil, ". --language python", verb.ExitMisused, "is a directory"},
		"no code":           {func(r *rig) { r.in = strings.NewReader(" \n") }, "--language python", verb.ExitMisused, "standard input has no code"},
		"no text":           {func(r *rig) { r.in = strings.NewReader("\xff") }, "--language python", verb.ExitMisused, "standard input is no text in UTF-8"},
		"too much":          {func(r *rig) { r.in = strings.NewReader(strings.Repeat("x", maxSource+1)) }, "--language python", verb.ExitMisused, "more than 65536 characters"},
		"an endless pipe":   {func(r *rig) { r.in = endless{} }, "--language python", verb.ExitMisused, "more than 65536 characters"},
		"refused":           {func(r *rig) { r.refuses = apierrors.NewForbidden(runs, "x", errors.New("no")) }, "--language python", verb.ExitFailed, "error: "},
		"no answer":         {func(r *rig) { r.refuses = errors.New("no route") }, "--language python", verb.ExitUnknown, "It may have been created"},
		"not in time":       {func(r *rig) { r.status.CompletionTime = nil }, "--language python --timeout 1ms", verb.ExitTimeout, "note: the code is that of motorrun/exec-x\nerror: exec-x has not ended after 1ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, `{"ok":true,"value":2}`)
			if tt.change != nil {
				tt.change(r)
			}
			if code, out, errs := r.does(t, strings.Fields(tt.args)...); code != tt.code || out != "" || !strings.Contains(errs, tt.says) {
				t.Errorf("exit code %d, %q, %q", code, out, errs)
			}
		})
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return copy(b, strings.Repeat("x", len(b))), nil }

// A pipe that stays open must not keep a person who wants to leave.
func TestTheCodeIsNotWaitedForForEver(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	in, writer := io.Pipe()
	defer writer.Close()
	r.in, r.streams.Terminal = in, true
	r.leaves = 10 * time.Millisecond
	if code, _, errs := r.does(t, "--language", "python"); code != verb.ExitUnknown || !strings.Contains(errs, "until Ctrl-D") || !strings.Contains(errs, "interrupted; nothing was run") {
		t.Errorf("exit code %d, %q", code, errs)
	}
}
