// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Options say what is measured.
type Options struct {
	// Manager and Plugin are programs.
	Manager, Plugin string
	// Runs is how many finished runs there are, and Rounds how often each thing is measured.
	Runs, Rounds int
}

// namespace has all runs.
const namespace = "history"

// patience is the most that one thing may take, but for the creation of the runs.
const patience = 5 * time.Minute

type bench struct {
	Options
	*rig
	out io.Writer
	// count makes the names of runs unlike each other.
	count int
}

// Measure measures a cluster without runs, fills it, and measures it again.
func Measure(ctx context.Context, o Options, out io.Writer) (report *Report, err error) {
	rig, err := start(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rig.stop()) }()
	b := &bench{Options: o, rig: rig, out: out}
	if err := b.prepare(ctx); err != nil {
		return nil, err
	}
	report = &Report{Runs: o.Runs}
	if report.Before, err = b.times(ctx); err != nil {
		return nil, fmt.Errorf("without finished runs: %w", err)
	}
	began := time.Now()
	if err := Fill(ctx, b.person, b.manager, namespace, o.Runs); err != nil {
		return nil, err
	}
	report.Fill = time.Since(began)
	fmt.Fprintf(out, "%d runs were created in %s\n", o.Runs, report.Fill.Round(time.Second))
	if report.RunBytes, err = b.runBytes(ctx); err != nil {
		return nil, err
	}
	if report.After, err = b.times(ctx); err != nil {
		return nil, fmt.Errorf("with %d finished runs: %w", o.Runs, err)
	}
	return report, nil
}

// prepare makes the namespace, whose finished runs are kept whatever their number.
func (b *bench) prepare(ctx context.Context) error {
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&v1alpha1.MotorCortex{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"},
			Spec: v1alpha1.MotorCortexSpec{Retention: v1alpha1.Retention{
				SucceededSeconds: new(int32(1e7)), FailedSeconds: new(int32(1e7)), MaxStorage: new(resource.MustParse("100Gi")),
			}},
		},
	} {
		if err := b.person.Create(ctx, o); err != nil {
			return fmt.Errorf("create %T: %w", o, err)
		}
	}
	return nil
}

// times measures each thing. A manager runs for as long as it takes.
func (b *bench) times(ctx context.Context) (t Times, err error) {
	if t.Stored, err = b.stored(ctx); err != nil {
		return t, err
	}
	waiting, err := b.create(ctx)
	if err != nil {
		return t, err
	}
	p, err := b.startManager(ctx, b.Manager, "first")
	if err != nil {
		return t, err
	}
	// A leader that has ended already ends without an error.
	defer func() { err = errors.Join(err, p.end()) }()
	if t.Restart, err = b.begun(ctx, waiting, p); err != nil {
		return t, err
	}
	fmt.Fprintf(b.out, "the manager acts after %s\n", t.Restart.Round(time.Millisecond))
	if err := p.quiet(ctx); err != nil {
		return t, err
	}
	t.Seen = time.Since(p.began)
	fmt.Fprintf(b.out, "the manager has seen all runs after %s\n", t.Seen.Round(time.Second))
	var all []time.Duration
	// The first one warms caches and is not counted.
	for i := range b.Rounds + 1 {
		run, err := b.create(ctx)
		if err != nil {
			return t, err
		}
		took, err := b.begun(ctx, run, p)
		if err != nil {
			return t, err
		}
		if i > 0 {
			all = append(all, took)
		}
	}
	t.Begin = median(all)
	if t.List, err = b.verb(ctx, "list"); err != nil {
		return t, err
	}
	if t.Inbox, err = b.verb(ctx, "inbox"); err != nil {
		return t, err
	}
	t.Takeover, err = b.takeover(ctx, p)
	return t, err
}

// takeover measures how long no replica acts when the leader is told to end, and another one has read everything.
func (b *bench) takeover(ctx context.Context, leader *process) (took time.Duration, err error) {
	next, err := b.startManager(ctx, b.Manager, "second")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, next.end()) }()
	if err := next.quiet(ctx); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := leader.end(); err != nil {
		return 0, err
	}
	run, err := b.create(ctx)
	if err != nil {
		return 0, err
	}
	run.began = began
	if took, err = b.begun(ctx, run, next); err != nil {
		return 0, err
	}
	fmt.Fprintf(b.out, "another replica acts after %s\n", took.Round(time.Millisecond))
	return took, nil
}

// created is a run, and when it was created.
type created struct {
	run   *v1alpha1.MotorRun
	pods  watch.Interface
	began time.Time
}

// create creates a run of code, which needs no model.
func (b *bench) create(ctx context.Context) (*created, error) {
	b.count++
	run := &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("new-%d", b.count)},
		Spec:       v1alpha1.MotorRunSpec{Mode: v1alpha1.ModeOneshot, Code: &v1alpha1.Code{Language: "python", Source: "6 * 7"}},
	}
	pods, err := b.person.Watch(ctx, &corev1.PodList{}, client.InNamespace(namespace), client.MatchingLabels{v1alpha1.LabelRun: run.Name})
	if err != nil {
		return nil, fmt.Errorf("watch Pods: %w", err)
	}
	began := time.Now()
	if err := b.person.Create(ctx, run); err != nil {
		pods.Stop()
		return nil, fmt.Errorf("create a run: %w", err)
	}
	return &created{run, pods, began}, nil
}

// begun returns the time from the creation of a run, or from the start of the manager if that is later, until it has its sandbox Pod. It removes both.
func (b *bench) begun(ctx context.Context, c *created, p *process) (time.Duration, error) {
	defer c.pods.Stop()
	began := c.began
	if p.began.After(began) {
		began = p.began
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-ctx.Done():
		return 0, fmt.Errorf("the run %s has no sandbox Pod: %w\n%s", c.run.Name, context.Cause(ctx), p.said())
	case <-p.ended:
		return 0, fmt.Errorf("the manager ended:\n%s", p.said())
	case event := <-c.pods.ResultChan():
		took := time.Since(began)
		pod, ok := event.Object.(*corev1.Pod)
		if !ok {
			return 0, fmt.Errorf("the watch of Pods ended with %v", event.Object)
		}
		// There is no kubelet, which would confirm the deletion, and no garbage collector.
		for _, o := range []client.Object{c.run, pod} {
			if err := b.person.Delete(ctx, o, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
				return 0, fmt.Errorf("delete %s: %w", o.GetName(), err)
			}
		}
		return took, nil
	}
}

// verb returns the median time of a verb of the plugin. It reads all that the verb prints.
func (b *bench) verb(ctx context.Context, name string) (time.Duration, error) {
	var all []time.Duration
	for range max(1, b.Rounds/3) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		cmd := exec.CommandContext(ctx, b.Plugin, name, "--kubeconfig", b.kubeconfig, "-n", namespace)
		began := time.Now()
		said, err := cmd.CombinedOutput()
		took := time.Since(began)
		cancel()
		if err != nil {
			return 0, fmt.Errorf("%s: %w: %.400s", name, err, said)
		}
		all = append(all, took)
	}
	fmt.Fprintf(b.out, "%s takes %s\n", name, median(all).Round(time.Millisecond))
	return median(all), nil
}

// runBytes is how large the first finished run is.
func (b *bench) runBytes(ctx context.Context) (int64, error) {
	run := &v1alpha1.MotorRun{}
	if err := b.person.Get(ctx, client.ObjectKey{Namespace: namespace, Name: Name(0)}, run); err != nil {
		return 0, fmt.Errorf("get a finished run: %w", err)
	}
	content, err := json.Marshal(run)
	return int64(len(content)), err
}
