// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/sandbox"
	"motorcortex.dev/motorcortex/test/bench/figures"
	"motorcortex.dev/motorcortex/test/bench/peers"
	"motorcortex.dev/motorcortex/test/bench/runs/manager"
)

// patience is the most that one round may take.
const patience = 5 * time.Minute

const (
	// manyCreates is how many objects a round creates to know what one costs.
	manyCreates = 10
	// manySteps is how many calls the script bench-steps makes, each in a step of its own.
	manySteps = 18
)

// bench measures on one cluster.
type bench struct {
	client    client.WithWatch
	namespace string
	image     string
	seen      *seen
	// burst is how many runs are created at once, 0 if pools are not measured.
	burst int
	// rounds is how often everything is measured that is measured more than once.
	rounds int
	// crowded is how many runs are created in numbers.
	crowded crowds
	// managers are those of the cluster.
	managers *manager.Managers
	// peers are measured too, unless nil.
	peers *peers.Bench
	// prefix makes the names of one measurement unlike those of the one before.
	prefix string
}

// taken are the times of one round.
type taken struct {
	// pod is from the creation of a plain Pod until it is ready.
	pod time.Duration
	// volume is the same for a Pod with an empty folder.
	volume time.Duration
	// create is the median time of creating an object of 4 KiB.
	create time.Duration
	// path is from the creation of a run to each of its moments.
	path map[Moment]time.Duration
	// oneshot is from the creation of a Oneshot run until its result is seen.
	oneshot time.Duration
	// warm are the times with sandboxes from a pool.
	warm warm
	// peers are the times of other people's programs, nil if they are not measured.
	peers *peers.Times
	// answered is from the accepted answer until the step after it is recorded, without the time of the model, which was asked in between.
	answered time.Duration
	// step is the time of a step outside of model and tools.
	step time.Duration
}

// session watches the namespace and empties it, then measures, and empties it again.
func (b *bench) session(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var watches sync.WaitGroup
	defer watches.Wait()
	defer cancel(nil)
	for _, list := range []client.ObjectList{&corev1.PodList{}, &v1alpha1.MotorRunList{}, &v1alpha1.MotorStepList{}} {
		started := make(chan struct{})
		watches.Go(func() {
			if err := b.seen.follow(ctx, b.client, b.namespace, list, func() { close(started) }); err != nil {
				cancel(err)
			}
		})
		select {
		case <-started:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := b.clear(ctx); err != nil {
		return err
	}
	if b.burst > 0 {
		if err := b.fill(ctx, 0); err != nil {
			return err
		}
	}
	defer func() {
		after, leave := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer leave()
		_ = b.clear(after) // The next measurement tries it again, and says so.
	}()
	return do(ctx)
}

// measure takes the times of several rounds. A round before them warms caches and is not counted.
func (b *bench) measure(ctx context.Context, out io.Writer) ([]taken, error) {
	if b.peers != nil {
		if err := b.peers.Prepare(ctx); err != nil {
			return nil, err
		}
	}
	var all []taken
	for i := range b.rounds + 1 {
		t, err := b.round(ctx, i)
		if err != nil {
			return nil, fmt.Errorf("round %d: %w", i, err)
		}
		fmt.Fprintf(out, "round %2d: Pod %4d ms, first result %4d ms, warm %4d ms, burst %4d ms, Oneshot %4d ms, answer %3d ms, step %5.1f ms, create %4.1f ms\n", i,
			t.pod.Milliseconds(), t.path[FirstResult].Milliseconds(), t.warm.path[FirstResult].Milliseconds(), figures.Quantile(t.warm.burst, 0.95).Milliseconds(), t.oneshot.Milliseconds(), t.answered.Milliseconds(), ms(t.step), ms(t.create))
		if t.peers != nil {
			fmt.Fprintf(out, "          peers: Sandbox %4d ms, claim %4d ms, claims %4d ms, TaskRun %4d ms\n",
				t.peers.Cold.Milliseconds(), t.peers.Claim.Milliseconds(), figures.Quantile(t.peers.Burst, 0.95).Milliseconds(), t.peers.TaskRun.Milliseconds())
		}
		if i > 0 {
			all = append(all, t)
		}
	}
	return all, nil
}

func ms(d time.Duration) float64 { return figures.Milliseconds(d) }

// round measures each thing once, one after the other.
func (b *bench) round(ctx context.Context, number int) (t taken, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	name := func(what string) string { return fmt.Sprintf("%s-%s-%d", b.prefix, what, number) }
	if t.create, err = b.creates(ctx, name("create")); err != nil {
		return t, err
	}
	if t.pod, err = b.podReady(ctx, plainPod(b.namespace, name("pod"), b.image)); err != nil {
		return t, err
	}
	if t.volume, err = b.podReady(ctx, withVolume(plainPod(b.namespace, name("volume"), b.image))); err != nil {
		return t, err
	}
	if t.path, err = b.firstResult(ctx, name("run")); err != nil {
		return t, err
	}
	if t.oneshot, err = b.oneshot(ctx, name("oneshot")); err != nil {
		return t, err
	}
	if t.answered, err = b.answer(ctx, name("ask")); err != nil {
		return t, err
	}
	if t.step, err = b.steps(ctx, name("steps")); err != nil {
		return t, err
	}
	if t.warm, err = b.pooled(ctx, name("warm")); err != nil || b.peers == nil {
		return t, err
	}
	theirs, err := b.peers.Round(ctx, name("peer"))
	t.peers = &theirs
	return t, err
}

// creates returns the median time of creating an object of 4 KiB.
func (b *bench) creates(ctx context.Context, name string) (time.Duration, error) {
	var all []time.Duration
	for i := range manyCreates {
		o := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: fmt.Sprintf("%s-%d", name, i)},
			Data:       map[string]string{"text": strings.Repeat("x", 4<<10)},
		}
		began := time.Now()
		if err := b.client.Create(ctx, o); err != nil {
			return 0, fmt.Errorf("create a ConfigMap: %w", err)
		}
		all = append(all, time.Since(began))
		if err := b.client.Delete(ctx, o); err != nil {
			return 0, fmt.Errorf("delete a ConfigMap: %w", err)
		}
	}
	return figures.Quantile(all, 0.5), nil
}

// podReady returns the time from the creation of a Pod until it is ready.
func (b *bench) podReady(ctx context.Context, pod *corev1.Pod) (time.Duration, error) {
	began := time.Now()
	if err := b.client.Create(ctx, pod); err != nil {
		return 0, fmt.Errorf("create a Pod: %w", err)
	}
	at, err := b.seen.await(ctx, pod.Name, PodReady)
	if err != nil {
		return 0, err
	}
	return at[PodReady].Sub(began), b.remove(ctx, pod)
}

// plainPod does nothing, as simply as the Pod Security Standard "restricted" permits.
func plainPod(namespace, name, image string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{labelMeasured: "true"}},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: new(int64(1)), ActiveDeadlineSeconds: new(int64(300)),
			AutomountServiceAccountToken: new(false),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: new(true), RunAsUser: new(int64(65532)), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "sleep", Image: image, ImagePullPolicy: corev1.PullIfNotPresent, Command: []string{"sleep", "infinity"},
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
}

// withVolume gives a Pod an empty folder, as every sandbox has.
func withVolume(pod *corev1.Pod) *corev1.Pod {
	pod.Spec.Volumes = []corev1.Volume{{Name: "work", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "work", MountPath: "/work"}}
	return pod
}

// firstResult returns the time from the creation of a run to each of its moments.
func (b *bench) firstResult(ctx context.Context, name string, change ...func(*v1alpha1.MotorRun)) (map[Moment]time.Duration, error) {
	run, began, err := b.create(ctx, name, "bench-call", change...)
	if err != nil {
		return nil, err
	}
	at, err := b.seen.await(ctx, name, Finished)
	if err != nil {
		return nil, err
	}
	path := map[Moment]time.Duration{}
	for m, t := range at {
		path[m] = t.Sub(began)
	}
	return path, b.remove(ctx, run)
}

// create creates a run that plays a script, and returns when.
func (b *bench) create(ctx context.Context, name, script string, change ...func(*v1alpha1.MotorRun)) (*v1alpha1.MotorRun, time.Time, error) {
	run := &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name},
		Spec: v1alpha1.MotorRunSpec{
			Task: "Play your part as " + name + ".", Tools: []v1alpha1.ToolName{"bash"}, Model: &v1alpha1.RunModel{Name: "scripted/" + script}, MaxAttempts: 1,
		},
	}
	for _, c := range change {
		c(run)
	}
	began := time.Now()
	if err := b.client.Create(ctx, run); err != nil {
		return nil, began, fmt.Errorf("create a run: %w", err)
	}
	return run, began, nil
}

// oneshot returns the time from the creation of a Oneshot run until its result is seen.
func (b *bench) oneshot(ctx context.Context, name string, change ...func(*v1alpha1.MotorRun)) (time.Duration, error) {
	run := &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name},
		Spec:       v1alpha1.MotorRunSpec{Mode: v1alpha1.ModeOneshot, Code: &v1alpha1.Code{Language: "python", Source: "6 * 7"}},
	}
	for _, c := range change {
		c(run)
	}
	began := time.Now()
	if err := b.client.Create(ctx, run); err != nil {
		return 0, fmt.Errorf("create a Oneshot run: %w", err)
	}
	at, err := b.seen.await(ctx, name, Finished)
	if err != nil {
		return 0, err
	}
	return at[Finished].Sub(began), b.remove(ctx, run)
}

// answer returns the time from an accepted answer until the step after it is recorded, without the time of the model in between.
func (b *bench) answer(ctx context.Context, name string) (time.Duration, error) {
	run, _, err := b.create(ctx, name, "bench-ask")
	if err != nil {
		return 0, err
	}
	if _, err := b.seen.await(ctx, name, Asked); err != nil {
		return 0, err
	}
	asked, _ := b.seen.run(name)
	answered := asked.DeepCopy()
	answered.Spec.Responses = append(answered.Spec.Responses, v1alpha1.Response{ID: asked.Status.Pending().ID, Answer: "red"})
	if err := b.client.Patch(ctx, answered, client.MergeFrom(asked)); err != nil {
		return 0, fmt.Errorf("answer: %w", err)
	}
	accepted := time.Now()
	at, err := b.seen.await(ctx, name, NextStep)
	if err != nil {
		return 0, err
	}
	_, steps := b.seen.run(name)
	took := at[NextStep].Sub(accepted) - modelTime(steps, 2)
	if _, err := b.seen.await(ctx, name, Finished); err != nil {
		return 0, err
	}
	return took, b.remove(ctx, run)
}

// modelTime returns how long the model took for the step of an index, in whole milliseconds, 0 if there is no such step.
func modelTime(steps []*v1alpha1.MotorStep, index int32) time.Duration {
	for _, s := range steps {
		if s.Spec.Index == index {
			return time.Duration(s.Spec.ModelMilliseconds) * time.Millisecond
		}
	}
	return 0
}

// steps returns the time of a step outside of model and tools, from the first result to the last.
func (b *bench) steps(ctx context.Context, name string) (time.Duration, error) {
	run, _, err := b.create(ctx, name, "bench-steps")
	if err != nil {
		return 0, err
	}
	at, err := b.seen.await(ctx, name, Finished)
	if err != nil {
		return 0, err
	}
	if at[LastResult].IsZero() {
		return 0, fmt.Errorf("%s made fewer than %d calls", name, manySteps)
	}
	_, steps := b.seen.run(name)
	var inside time.Duration
	for _, s := range steps {
		if s.Spec.Index > 1 && s.Spec.Index <= manySteps {
			inside += time.Duration(s.Spec.ModelMilliseconds+s.Status.ToolMilliseconds) * time.Millisecond
		}
	}
	return (at[LastResult].Sub(at[FirstResult]) - inside) / (manySteps - 1), b.remove(ctx, run)
}

// labelMeasured marks the Pods that are no sandboxes.
const labelMeasured = "motorcortex.dev/bench"

// clear deletes what an earlier measurement left. A run that waits for its answer would wait for ever.
func (b *bench) clear(ctx context.Context) error {
	for _, o := range []struct {
		kind client.Object
		opts []client.DeleteAllOfOption
	}{
		{&v1alpha1.MotorRun{}, []client.DeleteAllOfOption{client.InNamespace(b.namespace)}},
		{&corev1.Pod{}, []client.DeleteAllOfOption{client.InNamespace(b.namespace), client.HasLabels{labelMeasured}}},
	} {
		if err := b.client.DeleteAllOf(ctx, o.kind, o.opts...); err != nil {
			return fmt.Errorf("delete what is left: %w", err)
		}
	}
	return b.awaitNoPods(ctx)
}

// remove deletes what was measured and forgets it. Its Pods are gone before the next measurement begins, so that they take no time from it.
func (b *bench) remove(ctx context.Context, o client.Object) error {
	if err := b.client.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s: %w", o.GetName(), err)
	}
	b.seen.forget(o.GetName())
	return b.awaitNoPods(ctx)
}

func (b *bench) awaitNoPods(ctx context.Context) error {
	for {
		left := ""
		var pods corev1.PodList
		if err := b.client.List(ctx, &pods, client.InNamespace(b.namespace)); err != nil {
			return fmt.Errorf("list Pods: %w", err)
		}
		for i := range pods.Items {
			if p := &pods.Items[i]; sandbox.RunOf(p) != "" || p.Labels[labelMeasured] != "" {
				left = p.Name
			}
		}
		if left == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the Pod %s does not go: %w", left, context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}
