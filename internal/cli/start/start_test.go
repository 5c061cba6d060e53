// SPDX-License-Identifier: Apache-2.0

package start

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

func TestBuild(t *testing.T) {
	t.Parallel()
	o := options{
		name: "portfolio", skill: "agentmail", model: "m", tools: []string{"read", "code"}, domains: []string{"example.org"}, inputs: []string{"to=a@example.org", "subject=a=b"},
	}
	got, err := o.build("count", nil)
	want := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: "portfolio"}, Spec: v1alpha1.MotorRunSpec{
		Task: "count", Tools: []v1alpha1.ToolName{"read", "code"}, Domains: []v1alpha1.Domain{"example.org"}, Model: &v1alpha1.RunModel{Name: "m"}, SkillRef: &v1alpha1.SkillRef{Name: "agentmail"},
		Inputs: []v1alpha1.RunInput{{Name: "to", Value: "a@example.org"}, {Name: "subject", Value: "a=b"}},
	}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	piped, err := (&options{}).build("-", strings.NewReader("from a pipe\n"))
	if err != nil || piped.Spec.Task != "from a pipe\n" || piped.GenerateName != "run-" || piped.Name != "" {
		t.Errorf("%+v, %v", piped, err)
	}
}

func TestWrongArguments(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"":                                    "the TASK",
		" ":                                   "the task is empty",
		"-":                                   "more than 32768 bytes",
		"x --until-asked":                     "--timeout and --until-asked go with --follow",
		"x --timeout 1s":                      "--timeout and --until-asked go with --follow",
		"x --input a=b":                       "goes with --skill",
		"x --skill s --input a":               "NAME=VALUE",
		"x --timeout soon --follow":           "invalid argument",
		"x" + strings.Repeat(" --file a", 65): "at most 64 files",
	} {
		var errs strings.Builder
		s := verb.Streams{In: strings.NewReader(strings.Repeat("x", maxTask+1)), Out: &errs, Err: &errs}
		args := []string{"run", line}
		if fields := strings.Split(line, " "); line != " " && line != "" {
			args = append([]string{"run"}, fields...)
		} else if line == "" {
			args = []string{"run"}
		}
		p := verb.Program(s, "kubectl-motor", "kubectl motor", "Test.", New(s, new(cluster.Flags).Connect))
		if code := verb.Run(t.Context(), p, args); code != verb.ExitMisused || !strings.Contains(errs.String(), want) {
			t.Errorf("%.60q: exit code %d, %s", line, code, &errs)
		}
	}
}

// What is refused, and what to do.
func TestRefused(t *testing.T) {
	t.Parallel()
	runs := schema.GroupResource{Group: "motorcortex.dev", Resource: "motorruns"}
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: "run", Namespace: "ns"}}
	for want, err := range map[string]error{
		"there is a MotorRun run in the namespace ns already: give another --name, or none": apierrors.NewAlreadyExists(runs, "run"),
		`the run is refused: spec.tools: Invalid value: "x": no tool`: apierrors.NewInvalid(schema.GroupKind{Group: "motorcortex.dev", Kind: "MotorRun"}, "run",
			field.ErrorList{field.Invalid(field.NewPath("spec", "tools"), "x", "no tool")}),
		"the run is refused: write it smaller": apierrors.NewForbidden(runs, "run", errors.New("ValidatingAdmissionPolicy 'p' with binding 'p' denied request: write it smaller")),
		`motorruns.motorcortex.dev "run" is forbidden: no. Have the role edit, or the ClusterRole motorcortex-editor, bound to you in the namespace ns`: apierrors.NewForbidden(runs, "run", errors.New("no")),
		"create the run: no route": errors.New("no route"),
	} {
		if got := refused(err, run).Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
