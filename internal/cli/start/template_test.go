// SPDX-License-Identifier: Apache-2.0

package start

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

func reportCluster(t *testing.T) client.WithWatch {
	t.Helper()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(&v1alpha1.MotorRunTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: "report", Namespace: "ns"},
		Spec: v1alpha1.MotorRunTemplateSpec{
			Parameters:  []v1alpha1.TemplateParameter{{Name: "city", Required: true}},
			RunTemplate: v1alpha1.RunTemplate{Spec: v1alpha1.RunTemplateSpec{Task: "report on $(params.city)"}},
		},
	}).Build()
}

func TestARunOfATemplate(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"--template report --param city=Bern --name r":    "motorrun/r",
		"--template report --param city=a=b --name r":     "motorrun/r",
		"--template report":                               `the parameter "city" needs a value`,
		"--template report --param town=a":                `no parameter "town"`,
		"--template other --param city=a":                 "there is no MotorRunTemplate other in the namespace ns",
		"--template report --param city":                  "is NAME=VALUE, once for each parameter",
		"--template report --param city=a --param city=b": "once for each parameter",
		"--template report --tools read":                  "do not go with --template",
		"--template report task":                          "task",
		"task --param city=a":                             "--param goes with --template",
		"":                                                "the TASK",
	} {
		c := reportCluster(t)
		var out strings.Builder
		s := verb.Streams{In: strings.NewReader(""), Out: &out, Err: &out}
		p := verb.Program(s, "kubectl-motor", "kubectl motor", "Test.", New(s, func() (client.WithWatch, string, error) { return c, "ns", nil }))
		code := verb.Run(t.Context(), p, append([]string{"run"}, strings.Fields(line)...))
		if !strings.Contains(out.String(), want) || (code == verb.ExitOK) != strings.HasPrefix(want, "motorrun/") {
			t.Errorf("%q: exit code %d, %s", line, code, &out)
		}
		if code != verb.ExitOK {
			continue
		}
		run := &v1alpha1.MotorRun{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "r"}, run); err != nil || !strings.HasPrefix(run.Spec.Task, "report on ") || run.Annotations[v1alpha1.AnnotationTemplate] != "report" {
			t.Errorf("%q: %+v, %v", line, run, err)
		}
	}
}
