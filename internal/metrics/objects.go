// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/energy"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// readTimeout bounds one read of the caches. They are in memory, and not there before they are filled.
const readTimeout = 5 * time.Second

// Objects shows the sandboxes, the pools, the skills, the sinks and receivers that fail, and the energy of the cluster, of which there are few enough to be
// listed at each read.
type Objects struct {
	cache client.Reader
	now   func() time.Time
	log   *slog.Logger
	pools bounded[poolName]

	sandboxes                     *prometheus.Desc
	poolHas, poolReady, poolWants *prometheus.Desc
	decisions, decisionAge        *prometheus.Desc
	failing                       *prometheus.Desc
	energy                        *prometheus.Desc
	// bodies are the namespaces with energy.
	bodies bounded[string]
}

// poolName is the name of a pool, or of all pools that have no place among the labels.
type poolName struct{ namespace, name string }

// RegisterObjects registers the metrics of sandboxes, pools, skills, sinks, receivers and energy. cache must hold them: it is read whenever the metrics are.
func RegisterObjects(to prometheus.Registerer, cache client.Reader, now func() time.Time, log *slog.Logger) error {
	return to.Register(&Objects{
		cache: cache, now: now, log: log, pools: bounded[poolName]{most: maxPools, now: now}, bodies: bounded[string]{most: maxBodies, now: now},
		sandboxes: gauge("sandboxes", "Sandboxes by state (starting, running, restarting, ended), and whether a run has them or a pool.", "state", "owner"),
		poolHas:   gauge("pool_sandboxes", "Sandboxes that wait in a pool, ready or not.", "namespace", "pool"),
		poolReady: gauge("pool_ready_sandboxes", "Sandboxes of a pool that a run can take now.", "namespace", "pool"),
		poolWants: gauge("pool_wanted_sandboxes", "Sandboxes that a pool is to have by its spec.", "namespace", "pool"),
		decisions: gauge("skill_decisions_waiting",
			"Skills that no run can use before a person decides about them, by the reason of the condition Approved.", "reason"),
		decisionAge: gauge("skill_decisions_oldest_age_seconds", "For how long the skill waits that waits longest for a person; 0 if none waits."),
		failing:     gauge("signal_channels_failing", "Sinks of signals and receivers of notifications that do not take what they are sent.", "kind"),
		energy:      gauge("energy_level", "Energy of a namespace from 0 to 1, where spec.energy is set; the lowest of those that share a label.", "namespace"),
	})
}

// Describe sends the descriptions. Most of the gauges have no value where there is no object.
func (o *Objects) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{o.sandboxes, o.poolHas, o.poolReady, o.poolWants, o.decisions, o.decisionAge, o.failing, o.energy} {
		to <- d
	}
}

// Collect sends the objects as they are now. What cannot be listed is left out: the other metrics are needed all the more then.
func (o *Objects) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	for what, collect := range map[string]func(context.Context, chan<- prometheus.Metric) error{
		"sandboxes": o.collectSandboxes, "pools": o.collectPools, "skills": o.collectSkills, "sinks and receivers": o.collectChannels,
		"energy": o.collectEnergy,
	} {
		if err := collect(ctx, to); err != nil {
			o.log.Warn("the metrics lack objects that cannot be listed", "what", what, "error", err)
		}
	}
}

func (o *Objects) collectSandboxes(ctx context.Context, to chan<- prometheus.Metric) error {
	var pods corev1.PodList
	// Nothing here changes an object, or keeps one.
	if err := o.cache.List(ctx, &pods, client.MatchingLabels{v1alpha1.LabelComponent: v1alpha1.ComponentSandbox}, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	type kind struct{ state, owner string }
	counts := map[kind]int{}
	for _, owner := range []string{"run", "pool"} {
		for _, state := range phases {
			counts[kind{state, owner}] = 0
		}
	}
	for i := range pods.Items {
		owner := "run"
		if _, waits := sandbox.PoolOf(&pods.Items[i]); waits {
			owner = "pool"
		}
		counts[kind{phases[sandbox.Read(&pods.Items[i]).Phase], owner}]++
	}
	for k, n := range counts {
		send(to, o.sandboxes, float64(n), k.state, k.owner)
	}
	return nil
}

var phases = map[sandbox.Phase]string{
	sandbox.Starting: "starting", sandbox.Running: "running", sandbox.Restarting: "restarting", sandbox.Ended: "ended",
}

func (o *Objects) collectPools(ctx context.Context, to chan<- prometheus.Metric) error {
	var pools v1alpha1.SandboxPoolList
	if err := o.cache.List(ctx, &pools, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	type size struct{ has, ready, wants int32 }
	sizes := map[poolName]size{}
	for i := range pools.Items {
		p := &pools.Items[i]
		name := placeOf(&o.pools, p.Namespace, p.Name)
		s := sizes[name]
		sizes[name] = size{s.has + p.Status.Replicas, s.ready + p.Status.ReadyReplicas, s.wants + ptr.Deref(p.Spec.Replicas, 1)}
	}
	for name, s := range sizes {
		send(to, o.poolHas, float64(s.has), name.namespace, name.name)
		send(to, o.poolReady, float64(s.ready), name.namespace, name.name)
		send(to, o.poolWants, float64(s.wants), name.namespace, name.name)
	}
	return nil
}

// placeOf returns the labels of a pool.
func placeOf(places *bounded[poolName], namespace, name string) poolName {
	p := poolName{clean(namespace), clean(name)}
	if !places.admits(p) {
		return poolName{other, other}
	}
	return p
}

// undecided are the reasons of Approved=False with which a skill waits for a person.
var undecided = []string{
	v1alpha1.ReasonAwaitingApproval, v1alpha1.ReasonContentChanged, v1alpha1.ReasonPolicyChanged, v1alpha1.ReasonApprovalExpired,
}

func (o *Objects) collectSkills(ctx context.Context, to chan<- prometheus.Metric) error {
	var skills v1alpha1.SkillList
	if err := o.cache.List(ctx, &skills, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	now, oldest, counts := o.now(), time.Duration(0), map[string]int{}
	for i := range skills.Items {
		c := apimeta.FindStatusCondition(skills.Items[i].Status.Conditions, v1alpha1.ConditionApproved)
		if c == nil || skills.Items[i].DeletionTimestamp != nil {
			continue
		}
		counts[c.Reason]++
		if slices.Contains(undecided, c.Reason) {
			// The condition has not changed when a skill that waited has something new.
			since := ptr.Deref(skills.Items[i].Status.StateTime, c.LastTransitionTime)
			oldest = max(oldest, now.Sub(since.Time))
		}
	}
	for _, reason := range undecided {
		send(to, o.decisions, float64(counts[reason]), reason)
	}
	send(to, o.decisionAge, oldest.Seconds())
	return nil
}

func (o *Objects) collectChannels(ctx context.Context, to chan<- prometheus.Metric) error {
	var cortexes v1alpha1.MotorCortexList
	if err := o.cache.List(ctx, &cortexes, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	failing := func(list []v1alpha1.SinkStatus) (n int) {
		for i := range list {
			if apimeta.IsStatusConditionFalse(list[i].Conditions, v1alpha1.CortexSinkReady) {
				n++
			}
		}
		return n
	}
	sinks, receivers := 0, 0
	for i := range cortexes.Items {
		sinks += failing(cortexes.Items[i].Status.Sinks)
		receivers += failing(cortexes.Items[i].Status.Receivers)
	}
	send(to, o.failing, float64(sinks), "sink")
	send(to, o.failing, float64(receivers), "receiver")
	return nil
}

func (o *Objects) collectEnergy(ctx context.Context, to chan<- prometheus.Metric) error {
	var cortexes v1alpha1.MotorCortexList
	if err := o.cache.List(ctx, &cortexes, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	now, lowest := o.now(), map[string]float64{}
	for i := range cortexes.Items {
		c := &cortexes.Items[i]
		if c.Spec.Energy == nil || c.Status.Energy == nil {
			continue
		}
		namespace := clean(c.Namespace)
		if !o.bodies.admits(namespace) {
			namespace = other
		}
		level := energy.LevelAt(c.Status.Energy, now).Float()
		if least, ok := lowest[namespace]; !ok || level < least {
			lowest[namespace] = level
		}
	}
	for namespace, level := range lowest {
		send(to, o.energy, level, namespace)
	}
	return nil
}
