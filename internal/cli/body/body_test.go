// SPDX-License-Identifier: Apache-2.0

package body

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// shown is what the verb prints of a MotorCortex.
func shown(t *testing.T, c *v1alpha1.MotorCortex, args ...string) (out, errs string) {
	t.Helper()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	c.Namespace, c.Name = "ns", v1alpha1.CortexName
	cl := fake.NewClientBuilder().WithScheme(scheme).WithObjects(c).Build()
	var o, e strings.Builder
	s := verb.Streams{In: strings.NewReader(""), Out: &o, Err: &e}
	now := func() time.Time { return noon }
	p := verb.Program(s, "kubectl-motor", "kubectl motor", "Test.", New(s, func() (client.WithWatch, string, error) { return cl, "ns", nil }, now))
	if code := verb.Run(t.Context(), p, append([]string{"body"}, args...)); code != verb.ExitOK {
		t.Errorf("exit code %d: %s", code, &e)
	}
	return o.String(), e.String()
}

func living() *v1alpha1.MotorCortex {
	ago := func(d time.Duration) metav1.Time { return metav1.NewTime(noon.Add(-d)) }
	return &v1alpha1.MotorCortex{
		Spec: v1alpha1.MotorCortexSpec{Energy: &v1alpha1.Energy{RegenerationPerHour: "0.1", WhenTired: v1alpha1.TiredQueue}},
		Status: v1alpha1.MotorCortexStatus{Energy: &v1alpha1.EnergyStatus{
			// Half an hour later it has 0.299999.
			Level: "0.249999", RegenerationPerHour: "0.1", ObservedTime: metav1.NewMicroTime(noon.Add(-30 * time.Minute)),
			Open: []v1alpha1.EnergyOpen{{RunUID: "1", RunName: "digest\x1b[2J", Time: ago(4 * time.Minute), EnergyRates: v1alpha1.EnergyRates{Kind: v1alpha1.EnergyAgentic, Base: "0.1"}}},
			Recent: []v1alpha1.EnergySettled{
				{RunUID: "2", RunName: "report", Kind: v1alpha1.EnergyAgentic, Base: "0.1", Consumed: "0.17", Time: ago(22 * time.Minute)},
			},
		}},
	}
}

// A level that is not enough yet does not look as if it were, and a name cannot move the cursor.
func TestTheBodyIsShown(t *testing.T) {
	t.Parallel()
	out, errs := shown(t, living())
	want := `[#####...............] 0.29 of 1, +0.1 per hour, full in 7h
A run for which it is too low waits (whenTired: Queue).

KIND             DRAINS                             NEEDS      POSSIBLE
Oneshot          0.05                               0.05       now
OneshotNetwork   0.15                               0.3        in 1s
Agentic          0.1, and 0.01 per answer after 5   0.3        in 1s
AgenticBrowser   0.2, and 0.02 per answer after 5   0.500001   in 120m

DRAINED BY        KIND      BASE   ALTOGETHER    AGO
digest\u001b[2J   Agentic   0.1    not settled   4m
report            Agentic   0.1    0.17          22m
`
	if diff := cmp.Diff(want, out); diff != "" || errs != "" {
		t.Errorf("-want +got:\n%s%s", diff, errs)
	}
}

func TestABodyThatIsFullAndOneThatStaysEmpty(t *testing.T) {
	t.Parallel()
	c := living()
	c.Status.Energy = nil
	c.Spec.Energy.Initial, c.Spec.Energy.WhenTired = "1", v1alpha1.TiredReject
	out, _ := shown(t, c)
	if !strings.HasPrefix(out, "[####################] 1.00 of 1, +0.1 per hour, full\n") || !strings.Contains(out, "ends at once (whenTired: Reject)") ||
		strings.Count(out, " now\n") != 4 || strings.Contains(out, "DRAINED BY") {
		t.Errorf("a body that has just begun:\n%s", out)
	}
	c.Spec.Energy.Initial, c.Spec.Energy.RegenerationPerHour = "0", "0"
	if out, _ := shown(t, c); !strings.HasPrefix(out, "[....................] 0.00 of 1, +0 per hour\n") || strings.Count(out, " never\n") != 4 {
		t.Errorf("a body that stays empty:\n%s", out)
	}
}

func TestTheBodyForPrograms(t *testing.T) {
	t.Parallel()
	out, _ := shown(t, living(), "-o", "yaml")
	for _, part := range []string{
		"namespace: ns\n", "level: \"0.299999\"\n", "fullTime: \"2026-11-27T19:00:00Z\"\n", "whenTired: Queue\n",
		"- base: \"0.05\"\n  kind: Oneshot\n  minimumLevel: \"0.05\"\n  possible: true\n",
		"  freeIterations: 5\n  kind: Agentic\n  minimumLevel: \"0.3\"\n  perIteration: \"0.01\"\n  possible: false\n  possibleTime: \"2026-11-27T12:00:01Z\"\n",
		"consumed: \"0.17\"\n", "runUID: \"1\"\n",
	} {
		if !strings.Contains(out, part) {
			t.Errorf("it lacks %q:\n%s", part, out)
		}
	}
	if out, _ := shown(t, living(), "-o", "json"); !strings.Contains(out, `"level": "0.299999"`) {
		t.Errorf("as JSON: %s", out)
	}
}

func TestANamespaceWithoutEnergySaysSo(t *testing.T) {
	t.Parallel()
	out, errs := shown(t, &v1alpha1.MotorCortex{})
	if out != "" || !strings.Contains(errs, "Runs of the namespace ns drain no energy") {
		t.Errorf("%q, %q", out, errs)
	}
	if out, _ := shown(t, &v1alpha1.MotorCortex{}, "-o", "json"); out != "{\n    \"namespace\": \"ns\"\n}\n" {
		t.Errorf("as JSON: %s", out)
	}
}

func TestAClusterThatIsAwayIsAnError(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := verb.Streams{In: strings.NewReader(""), Out: &out, Err: &out}
	p := verb.Program(s, "kubectl-motor", "kubectl motor", "Test.", New(s, func() (client.WithWatch, string, error) { return nil, "", errors.New("no cluster") }, time.Now))
	if code := verb.Run(t.Context(), p, []string{"body"}); code == verb.ExitOK || !strings.Contains(out.String(), "no cluster") {
		t.Errorf("exit code %d, %s", code, &out)
	}
}
