// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func now() time.Time { return noon }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// has reports a difference between the metrics of these names and lines, which need no HELP and TYPE.
func has(t *testing.T, from prometheus.Gatherer, lines string, names ...string) {
	t.Helper()
	families, err := from.Gather()
	must(t, err)
	var want strings.Builder
	for _, name := range names {
		for _, f := range families {
			if f.GetName() == name {
				want.WriteString("# HELP " + name + " " + f.GetHelp() + "\n# TYPE " + name + " " + strings.ToLower(f.GetType().String()) + "\n")
			}
		}
		for line := range strings.Lines(lines) {
			line = strings.TrimSpace(line)
			if rest, ok := strings.CutPrefix(line, name); ok && (strings.HasPrefix(rest, "{") || strings.HasPrefix(rest, " ")) {
				want.WriteString(line + "\n")
			}
		}
	}
	if err := testutil.GatherAndCompare(from, strings.NewReader(want.String()), names...); err != nil {
		t.Error(err)
	}
}

// hostile is a cache with more objects than any cluster, whose names users chose.
type hostile struct{ client.Reader }

func (hostile) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	for i := range 1000 {
		name := "name-" + strconv.Itoa(i) + "\xff"
		switch l := list.(type) {
		case *v1alpha1.SandboxPoolList:
			l.Items = append(l.Items, v1alpha1.SandboxPool{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: name}})
		case *v1alpha1.SkillList:
			l.Items = append(l.Items, v1alpha1.Skill{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1alpha1.SkillStatus{
				Conditions: []metav1.Condition{{Type: v1alpha1.ConditionApproved, Status: metav1.ConditionFalse, Reason: name}},
			}})
		}
	}
	return nil
}

// Whatever users, models and sandboxes choose, no metric has more series than this.
func TestNoMetricGrowsWithoutBound(t *testing.T) {
	t.Parallel()
	to := prometheus.NewRegistry()
	models, err := NewModels(to, "", time.Now)
	must(t, err)
	loops, err := NewLoops(to)
	must(t, err)
	leader, err := NewLeader(to, time.Now)
	must(t, err)
	runs, err := RegisterRuns(to, true, now)
	must(t, err)
	must(t, RegisterObjects(to, hostile{}, now, slog.New(slog.DiscardHandler)))
	for i := range 1000 {
		name := "name-" + strconv.Itoa(i) + "\xff"
		models.ModelAsked(name, name, -time.Second, turn.Usage{PromptTokens: -1})
		loops.CallEnded(name, name, -time.Second)
		loops.CallEnded("bash", "exit_"+strconv.Itoa(i), time.Second)
		loops.CallEnded("mcp__"+strconv.Itoa(i)+"__tool", "", time.Second)
		leader.RunEnded(name, false, time.Second)
		leader.PoolAdopted(name, name)
		leader.PoolMissed(name, name)
		for _, kind := range append(shownConditions, v1alpha1.ConditionFinished) {
			run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{UID: types.UID(kind + name)}}
			run.Status.Conditions = []metav1.Condition{
				{Type: kind, Status: metav1.ConditionTrue, Reason: name}, {Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionFalse, Reason: name},
			}
			run.Status.PendingInputs = []v1alpha1.PendingInput{{ID: name, Kind: v1alpha1.InputKind(name)}}
			runs.OnAdd(run, true)
		}
	}
	families, err := to.Gather()
	must(t, err)
	most := map[string]int{
		"motorcortex_model_request_duration_seconds": (maxModels + 1) * (maxOutcomes + 1), "motorcortex_model_tokens_total": 2 * (maxModels + 1),
		"motorcortex_model_cost_total": (maxModels + 1) * (maxCurrencies + 1),
		"motorcortex_run_conditions":   len(shownConditions) * (maxReasons + 1), "motorcortex_runs": 10 * (maxReasons + 1),
	}
	for _, f := range families {
		bound := max(most[f.GetName()], maxReasons+1)
		if n := len(f.GetMetric()); n > bound {
			t.Errorf("%s has %d series, and may have %d", f.GetName(), n, bound)
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "run" || l.GetName() == "uid" || l.GetName() == "name" {
					t.Errorf("%s has the label %s, of which there are as many as runs", f.GetName(), l.GetName())
				}
			}
		}
	}
}
