// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/internal/proof"
	"motorcortex.dev/motorcortex/internal/sandbox"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

const (
	// triedEvery is the pause between two tries of a sandbox that is proved.
	triedEvery = 30 * time.Second
	// triedTogether is how much earlier than that one is tried beside another one: each pass costs more than a try.
	triedTogether = 10 * time.Second
	// maxTries bounds the tries at the same time in one pass.
	maxTries = 8
	// tryPatience bounds one try, with the connection.
	tryPatience = time.Second
)

// Prober tries what the sandbox of a Pod can reach.
type Prober interface {
	Hello(ctx context.Context) (toolapi.Hello, error)
	Probe(ctx context.Context, request toolapi.ProbeRequest) (toolapi.ProbeResponse, error)
	Close()
}

// prove tries the sandboxes that are due once, those first that were not tried for longest, and returns for how long none is due, 0 if none ever is. It
// takes no more than fit into one round of tries: a pool whose sandboxes do not answer must not keep the passes of other pools waiting.
func (r *Reconciler) prove(ctx context.Context, pool types.NamespacedName, pods []*corev1.Pod, baseline string) time.Duration {
	early := time.Duration(0)
	if slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return r.due(pool, pod, baseline, 0) != nil }) {
		early = triedTogether
	}
	type try struct {
		pod *corev1.Pod
		of  *known
	}
	var due []try
	for _, pod := range pods {
		if k := r.due(pool, pod, baseline, early); k != nil {
			due = append(due, try{pod, k})
		}
	}
	slices.SortStableFunc(due, func(a, b try) int { return a.of.tried.Compare(b.of.tried) })
	var all sync.WaitGroup
	for _, t := range due[:min(len(due), maxTries)] {
		all.Go(func() { r.try(ctx, t.pod, t.of) })
	}
	all.Wait()
	var next time.Duration
	for _, pod := range pods {
		if left := r.nextTry(pool, pod); left > 0 && (next == 0 || left < next) {
			next = left
		}
	}
	return next
}

// due returns what is known of a sandbox that runs and has to be tried now, nil for another one. A closing policy that is another one than before, or
// was changed, voids the tries: the sandbox may have been open in between.
func (r *Reconciler) due(pool types.NamespacedName, pod *corev1.Pod, baseline string, early time.Duration) *known {
	if sandbox.Read(pod).Phase != sandbox.Running {
		return nil
	}
	r.memory.mu.Lock()
	defer r.memory.mu.Unlock()
	k := r.memory.of(pool, pod.UID)
	if k.baseline != baseline {
		k.baseline, k.tries, k.proved, k.since = baseline, proof.Confirmation{}, false, r.own()
	}
	if k.taker != "" || k.proved && r.own().Before(k.tried.Add(triedEvery-early)) {
		return nil
	}
	return k
}

// nextTry returns how long it is until a sandbox is due for a try, 0 for one that does not run or that a run has taken.
func (r *Reconciler) nextTry(pool types.NamespacedName, pod *corev1.Pod) time.Duration {
	if sandbox.Read(pod).Phase != sandbox.Running {
		return 0
	}
	r.memory.mu.Lock()
	defer r.memory.mu.Unlock()
	k := r.memory.of(pool, pod.UID)
	pause := proof.Pause
	switch {
	case k.taker != "":
		return 0
	case k.proved:
		pause = triedEvery
	}
	return max(time.Millisecond, k.tried.Add(pause).Sub(r.own()))
}

// try makes one try of a sandbox. One pass of a pool at a time comes here, and only Take changes what is known meanwhile.
func (r *Reconciler) try(ctx context.Context, pod *corev1.Pod, k *known) {
	began := r.own()
	resp, err := r.ask(ctx, pod, k)
	r.memory.mu.Lock()
	defer r.memory.mu.Unlock()
	was := k.proved
	k.tried, k.proved, k.failing = began, false, true
	if err != nil {
		if ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).V(1).Info("a sandbox of a pool could not be tried", "pod", pod.Name, "error", err.Error())
		}
		k.tries = proof.Confirmation{}
	} else {
		closed := len(resp.Open()) == 0 && resp.Confinement != nil && resp.Confinement.Refused == ""
		k.failing = !closed
		enough := k.tries.Add(closed, began, r.own())
		// Where it is allowed that nothing is enforced, the engine decides and says so.
		k.proved = enough || !closed && r.Config.AllowUnenforced
		k.once = k.once || k.proved
	}
	if was && !k.proved {
		// It has as long as a new one to be proved again.
		k.since = began
	}
}

// ask sends one try.
func (r *Reconciler) ask(ctx context.Context, pod *corev1.Pod, k *known) (toolapi.ProbeResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, tryPatience)
	defer cancel()
	if k.prober == nil {
		node, err := r.nodeOf(ctx, pod)
		if err != nil {
			return toolapi.ProbeResponse{}, err
		}
		prober, err := r.Connect(pod)
		if err != nil {
			return toolapi.ProbeResponse{}, fmt.Errorf("connect with the tool server: %w", err)
		}
		k.try = proof.Try(r.Config.Forbidden, proof.NodeAddresses(pod.Status.HostIP, pod, node))
		k.prober = prober
	}
	hello, err := k.prober.Hello(ctx)
	if err != nil {
		return toolapi.ProbeResponse{}, err
	}
	if hello.Used || hello.Epoch > 0 {
		r.memory.mu.Lock()
		defer r.memory.mu.Unlock()
		k.used = true
		return toolapi.ProbeResponse{}, errors.New("its tool server was used before a run took it")
	}
	return k.prober.Probe(ctx, k.try)
}

// nodeOf reads the node of a sandbox past the cache, which has no addresses. It returns an empty one if the node is gone or cannot be read.
func (r *Reconciler) nodeOf(ctx context.Context, pod *corev1.Pod) (*corev1.Node, error) {
	node := &corev1.Node{}
	if r.Config.WithoutNodes {
		return node, nil
	}
	err := r.Live.Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, node)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("read the node of a sandbox: %w", err)
	}
	return node, nil
}
