// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

func aPool(name string, replicas *int32, has, ready int32) *v1alpha1.SandboxPool {
	return &v1alpha1.SandboxPool{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "uid"}, Spec: v1alpha1.SandboxPoolSpec{Replicas: replicas},
		Status: v1alpha1.SandboxPoolStatus{Replicas: has, ReadyReplicas: ready},
	}
}

func aSkill(name, reason string, since time.Duration) *v1alpha1.Skill {
	return &v1alpha1.Skill{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Status: v1alpha1.SkillStatus{
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionApproved, Status: metav1.ConditionFalse, Reason: reason, LastTransitionTime: metav1.NewTime(noon.Add(-since))}},
	}}
}

// aCortex has sinks and receivers with these states.
func aCortex(namespace string, sinks, receivers []metav1.ConditionStatus) *v1alpha1.MotorCortex {
	states := func(list []metav1.ConditionStatus) (all []v1alpha1.SinkStatus) {
		for _, s := range list {
			all = append(all, v1alpha1.SinkStatus{Conditions: []metav1.Condition{{Type: v1alpha1.CortexSinkReady, Status: s}}})
		}
		return all
	}
	return &v1alpha1.MotorCortex{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.CortexName}, Status: v1alpha1.MotorCortexStatus{
		Sinks: states(sinks), Receivers: states(receivers),
	}}
}

func aPod(name string, phase corev1.PodPhase, running bool) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentSandbox}},
		Status:     corev1.PodStatus{Phase: phase},
	}
	if running {
		pod.Status.PodIP = "10.0.0.1"
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: sandbox.ContainerName, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		}}
	}
	return pod
}

func TestObjectsOfTheClusterAreShown(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	must(t, clientgoscheme.AddToScheme(scheme))
	must(t, v1alpha1.AddToScheme(scheme))
	pool := aPool("big", new(int32(4)), 3, 2)
	pooled := sandbox.Pooled(pool, "abc", sandbox.Config{Image: "image"})
	pooled.Status.Phase = corev1.PodPending
	renewed := aSkill("renewed", v1alpha1.ReasonAwaitingApproval, 48*time.Hour)
	renewed.Status.StateTime = new(metav1.NewTime(noon.Add(-time.Minute)))
	foreign := aPod("foreign", corev1.PodRunning, true)
	foreign.Labels = nil
	cache := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		pool, aPool("one", nil, 0, 0), pooled, foreign, aPod("starts", corev1.PodPending, false), aPod("runs", corev1.PodRunning, true),
		aPod("ended", corev1.PodFailed, false),
		renewed, aSkill("new", v1alpha1.ReasonAwaitingApproval, time.Minute), aSkill("changed", v1alpha1.ReasonContentChanged, time.Hour),
		aSkill("rejected", v1alpha1.ReasonSkillRejected, 24*time.Hour), &v1alpha1.Skill{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "unseen"}},
		aCortex("ns", []metav1.ConditionStatus{metav1.ConditionTrue}, []metav1.ConditionStatus{metav1.ConditionFalse, metav1.ConditionTrue}),
		aCortex("other", nil, []metav1.ConditionStatus{metav1.ConditionFalse}),
	).WithStatusSubresource().Build()
	to := prometheus.NewRegistry()
	must(t, RegisterObjects(to, cache, now, slog.New(slog.DiscardHandler)))
	has(t, to, `
		motorcortex_sandboxes{owner="pool",state="ended"} 0
		motorcortex_sandboxes{owner="pool",state="restarting"} 0
		motorcortex_sandboxes{owner="pool",state="running"} 0
		motorcortex_sandboxes{owner="pool",state="starting"} 1
		motorcortex_sandboxes{owner="run",state="ended"} 1
		motorcortex_sandboxes{owner="run",state="restarting"} 0
		motorcortex_sandboxes{owner="run",state="running"} 1
		motorcortex_sandboxes{owner="run",state="starting"} 1
		motorcortex_pool_sandboxes{namespace="ns",pool="big"} 3
		motorcortex_pool_sandboxes{namespace="ns",pool="one"} 0
		motorcortex_pool_ready_sandboxes{namespace="ns",pool="big"} 2
		motorcortex_pool_ready_sandboxes{namespace="ns",pool="one"} 0
		motorcortex_pool_wanted_sandboxes{namespace="ns",pool="big"} 4
		motorcortex_pool_wanted_sandboxes{namespace="ns",pool="one"} 1
		motorcortex_skill_decisions_waiting{reason="ApprovalExpired"} 0
		motorcortex_skill_decisions_waiting{reason="AwaitingApproval"} 2
		motorcortex_skill_decisions_waiting{reason="ContentChanged"} 1
		motorcortex_skill_decisions_waiting{reason="PolicyChanged"} 0
		motorcortex_skill_decisions_oldest_age_seconds 3600
		motorcortex_signal_channels_failing{kind="receiver"} 2
		motorcortex_signal_channels_failing{kind="sink"} 0
	`, "motorcortex_sandboxes", "motorcortex_pool_sandboxes", "motorcortex_pool_ready_sandboxes", "motorcortex_pool_wanted_sandboxes",
		"motorcortex_skill_decisions_waiting", "motorcortex_skill_decisions_oldest_age_seconds", "motorcortex_signal_channels_failing")
}

// away is a cache that has no skills.
type away struct{ client.Reader }

func (away) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if _, ok := list.(*v1alpha1.SkillList); ok {
		return errors.New("the cache is not filled")
	}
	return nil
}

// One kind that cannot be listed must not take the metrics away that tell of the trouble.
func TestAKindThatCannotBeListedIsLeftOut(t *testing.T) {
	t.Parallel()
	to := prometheus.NewRegistry()
	var log bytes.Buffer
	must(t, RegisterObjects(to, away{}, now, slog.New(slog.NewTextHandler(&log, nil))))
	families, err := to.Gather()
	must(t, err)
	if len(families) != 2 || families[0].GetName() != "motorcortex_sandboxes" || families[1].GetName() != "motorcortex_signal_channels_failing" {
		t.Errorf("there are %v", families)
	}
	if !strings.Contains(log.String(), "what=skills") || !strings.Contains(log.String(), "the cache is not filled") {
		t.Errorf("the log has %q", log.String())
	}
}

// The level is that of the instant at which it is read. A body without energy has none.
func TestTheEnergyOfEachBodyIsShown(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	must(t, v1alpha1.AddToScheme(scheme))
	body := func(namespace string, level v1alpha1.EnergyLevel) client.Object {
		c := aCortex(namespace, nil, nil)
		c.Spec.Energy = &v1alpha1.Energy{}
		c.Status.Energy = &v1alpha1.EnergyStatus{Level: level, RegenerationPerHour: "0.25", ObservedTime: metav1.NewMicroTime(noon.Add(-time.Hour))}
		return c
	}
	unseen := aCortex("unseen", nil, nil)
	unseen.Spec.Energy = &v1alpha1.Energy{}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(body("a", "0.25"), body("b", "1"), aCortex("off", nil, nil), unseen).Build()
	to := prometheus.NewRegistry()
	must(t, RegisterObjects(to, c, now, slog.New(slog.DiscardHandler)))
	has(t, to, `
		motorcortex_energy_level{namespace="a"} 0.5
		motorcortex_energy_level{namespace="b"} 1
	`, "motorcortex_energy_level")

	for i := range 2 * maxBodies {
		must(t, c.Create(t.Context(), body(fmt.Sprintf("ns-%03d", i), "0.5")))
	}
	to = prometheus.NewRegistry()
	must(t, RegisterObjects(to, c, now, slog.New(slog.DiscardHandler)))
	for range 2 {
		families, err := to.Gather()
		must(t, err)
		for _, f := range families {
			if n := len(f.GetMetric()); f.GetName() == "motorcortex_energy_level" && n != maxBodies+1 {
				t.Errorf("%d bodies have a label of their own", n-1)
			}
		}
	}
}
