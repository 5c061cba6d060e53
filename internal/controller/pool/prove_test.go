// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// probes answers tries with a function.
type probes func(ctx context.Context, request toolapi.ProbeRequest) (toolapi.ProbeResponse, error)

func (f probes) Hello(context.Context) (toolapi.Hello, error) { return toolapi.Hello{}, nil }

func (f probes) Probe(ctx context.Context, request toolapi.ProbeRequest) (toolapi.ProbeResponse, error) {
	return f(ctx, request)
}

func (probes) Close() {}

// nodes has one Node, or refuses to return it.
type nodes struct {
	client.Reader
	err error
}

func (n nodes) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if node, ok := o.(*corev1.Node); ok && n.err == nil {
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.9.9.9"}}
	}
	return n.err
}

// proving returns a reconciler whose sandboxes all answer tries in the same way, and its clock.
func proving(answer probes) (*Reconciler, *time.Time) {
	now := new(noon)
	return &Reconciler{
		Live: nodes{}, Now: func() time.Time { return *now }, Connect: func(*corev1.Pod) (Prober, error) { return answer, nil },
	}, now
}

// The answers of a sandbox to a try.
const (
	blocked    = "blocked"
	reached    = "reached"
	silent     = "silent"
	unconfined = "unconfined"
	away       = "away"
)

func answer(kind string) (toolapi.ProbeResponse, error) {
	switch kind {
	case away:
		return toolapi.ProbeResponse{}, errors.New("connection refused")
	case silent:
		return toolapi.ProbeResponse{}, nil
	}
	resp := toolapi.ProbeResponse{Results: []toolapi.ProbeResult{{Name: "x", Reached: kind == reached}}, Confinement: &toolapi.Confinement{}}
	if kind == unconfined {
		resp.Confinement.Refused = "the kernel has no filter"
	}
	return resp, nil
}

func TestAProofTakesTries(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	type try struct {
		after    time.Duration
		answer   string
		baseline string
		proved   bool
	}
	proof := []try{{0, blocked, "b/1", false}, {50 * ms, blocked, "b/1", false}, {50 * ms, blocked, "b/1", true}}
	then := func(more ...try) []try { return append(slices.Clone(proof), more...) }
	for name, tt := range map[string]struct {
		unenforced bool
		tries      []try
	}{
		"three over 100 ms":                    {tries: proof},
		"three in less":                        {tries: []try{{0, blocked, "b/1", false}, {50 * ms, blocked, "b/1", false}, {49 * ms, blocked, "b/1", false}, {50 * ms, blocked, "b/1", true}}},
		"two over a long time":                 {tries: []try{{0, blocked, "b/1", false}, {time.Hour, blocked, "b/1", false}}},
		"an open one begins again":             {tries: append([]try{{0, blocked, "b/1", false}, {50 * ms, blocked, "b/1", false}, {50 * ms, reached, "b/1", false}}, proof...)},
		"an error begins again":                {tries: append([]try{{0, blocked, "b/1", false}, {50 * ms, blocked, "b/1", false}, {50 * ms, away, "b/1", false}}, proof...)},
		"no report on programs begins again":   {tries: append([]try{{0, blocked, "b/1", false}, {50 * ms, blocked, "b/1", false}, {50 * ms, silent, "b/1", false}}, proof...)},
		"no confined program begins again":     {tries: append([]try{{0, blocked, "b/1", false}, {50 * ms, blocked, "b/1", false}, {50 * ms, unconfined, "b/1", false}}, proof...)},
		"another closing policy begins again":  {tries: append([]try{{0, blocked, "b/0", false}, {50 * ms, blocked, "b/0", false}}, proof...)},
		"an open one voids the proof":          {tries: then(try{triedEvery, reached, "b/1", false}, try{50 * ms, blocked, "b/1", false})},
		"an error voids the proof":             {tries: then(try{triedEvery, away, "b/1", false}, try{50 * ms, blocked, "b/1", false})},
		"another closing policy voids it":      {tries: then(try{ms, blocked, "b/2", false}, try{50 * ms, blocked, "b/2", false}, try{50 * ms, blocked, "b/2", true})},
		"one more blocked try keeps it":        {tries: then(try{triedEvery, blocked, "b/1", true}, try{triedEvery, blocked, "b/1", true})},
		"where nothing is enforced":            {true, []try{{0, reached, "b/1", true}, {50 * ms, reached, "b/1", true}}},
		"an older tool server there":           {true, []try{{0, silent, "b/1", true}}},
		"where something is, it has to be":     {true, proof},
		"where nothing is enforced it answers": {true, []try{{0, away, "b/1", false}, {50 * ms, reached, "b/1", true}, {triedEvery, away, "b/1", false}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind := ""
			r, now := proving(func(context.Context, toolapi.ProbeRequest) (toolapi.ProbeResponse, error) { return answer(kind) })
			r.Config.AllowUnenforced = tt.unenforced
			pods := []*corev1.Pod{runs(aPod("pod", time.Minute))}
			for i, try := range tt.tries {
				*now, kind = now.Add(try.after), try.answer
				r.prove(t.Context(), aPool, pods, try.baseline)
				if got := r.memory.look("pod", try.baseline, *now).proved; got != try.proved {
					t.Fatalf("after try %d: %t", i+1, got)
				}
			}
		})
	}
}

// A sandbox has its time for a proof from the first try under the closing policy, or from the one that voided its proof.
func TestAProofBeginsAnew(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	kind := blocked
	r, now := proving(func(context.Context, toolapi.ProbeRequest) (toolapi.ProbeResponse, error) { return answer(kind) })
	pods := []*corev1.Pod{runs(aPod("pod", time.Hour))}
	for i, tt := range []struct {
		after    time.Duration
		answer   string
		baseline string
		// since is from when on the time counts, after noon.
		since time.Duration
	}{
		{0, away, "b/1", 0}, {time.Second, blocked, "b/1", 0}, {50 * ms, blocked, "b/1", 0}, {50 * ms, blocked, "b/1", 0},
		{triedEvery, away, "b/1", 31100 * ms}, {50 * ms, reached, "b/1", 31100 * ms}, {50 * ms, reached, "b/2", 31200 * ms},
	} {
		*now, kind = now.Add(tt.after), tt.answer
		r.prove(t.Context(), aPool, pods, tt.baseline)
		if got := now.Sub(noon) - r.memory.look("pod", tt.baseline, *now).trying; got != tt.since {
			t.Errorf("after try %d since %s, want %s", i+1, got, tt.since)
		}
	}
}

// One that is not proved is tried all the time, and one that is every 30 seconds.
func TestTriesAreMadeWhenTheyAreDue(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	made := 0
	r, now := proving(func(context.Context, toolapi.ProbeRequest) (toolapi.ProbeResponse, error) {
		made++
		return answer(blocked)
	})
	starts := aPod("starts", time.Minute)
	pods := []*corev1.Pod{starts, runs(aPod("pod", time.Minute))}
	for i, tt := range []struct {
		after time.Duration
		made  int
		next  time.Duration
	}{
		{0, 1, 50 * ms}, {50 * ms, 2, 50 * ms}, {50 * ms, 3, triedEvery}, {50 * ms, 3, triedEvery - 50*ms},
		{triedEvery - 51*ms, 3, ms}, {ms, 4, triedEvery},
	} {
		*now = now.Add(tt.after)
		next := r.prove(t.Context(), aPool, pods, "b/1")
		if made != tt.made || next != tt.next {
			t.Errorf("pass %d: %d tries, the next after %s; want %d and %s", i+1, made, next, tt.made, tt.next)
		}
	}
	if next := r.prove(t.Context(), aPool, []*corev1.Pod{starts}, "b/1"); next != 0 {
		t.Errorf("one that starts is tried at %v", next)
	}
}

// The tool server of a sandbox that a run takes belongs to that run.
func TestATakenSandboxIsNotTried(t *testing.T) {
	t.Parallel()
	made := 0
	r, now := proving(func(context.Context, toolapi.ProbeRequest) (toolapi.ProbeResponse, error) {
		made++
		return answer(blocked)
	})
	pods := []*corev1.Pod{runs(aPod("pod", time.Minute))}
	r.memory.knows("pod", "b/1")
	if !r.memory.claim("pod", "run", "b/1", noon) {
		t.Fatal("it cannot be claimed")
	}
	*now = now.Add(time.Hour)
	if next := r.prove(t.Context(), aPool, pods, "b/1"); made != 0 || next != 0 {
		t.Errorf("%d tries, and the next at %v", made, next)
	}
	r.memory.release("pod")
	if next := r.prove(t.Context(), aPool, pods, "b/1"); made != 1 || next == 0 {
		t.Errorf("given back: %d tries, and the next at %v", made, next)
	}
}

// A try has the targets that the engine of a run will ask for: otherwise the engine would have to make the proof again.
func TestATryHasTheAddressesOfTheNode(t *testing.T) {
	t.Parallel()
	nodesOf := schema.GroupResource{Resource: "nodes"}
	for name, tt := range map[string]struct {
		err          error
		withoutNodes bool
		// want is the last address of the node that is tried, "" if no try is made.
		want string
	}{
		"the Node has more":       {want: "10.9.9.9"},
		"the Node is gone":        {err: apierrors.NewNotFound(nodesOf, "node"), want: "10.0.0.6"},
		"nodes may not be read":   {err: apierrors.NewForbidden(nodesOf, "node", nil), want: "10.0.0.6"},
		"nodes are not read":      {err: errors.New("away"), withoutNodes: true, want: "10.0.0.6"},
		"the Node cannot be read": {err: errors.New("away")},
		"the API server fails":    {err: apierrors.NewInternalError(errors.New("x"))},
	} {
		var got []toolapi.ProbeRequest
		connected := 0
		ask := probes(func(ctx context.Context, request toolapi.ProbeRequest) (toolapi.ProbeResponse, error) {
			if end, ok := ctx.Deadline(); !ok || time.Until(end) > tryPatience {
				t.Errorf("%s: a try may take until %v", name, end)
			}
			got = append(got, request)
			return answer(blocked)
		})
		r, now := proving(ask)
		r.Live, r.Config.WithoutNodes = nodes{err: tt.err}, tt.withoutNodes
		r.Config.Forbidden = []toolapi.ProbeTarget{{Name: "the API server", Network: "tcp", Address: "10.0.0.1:443"}}
		r.Connect = func(*corev1.Pod) (Prober, error) {
			if connected++; connected == 1 {
				return nil, errors.New("no route")
			}
			return ask, nil
		}
		pod := runs(aPod("pod", time.Minute))
		pod.Status.HostIP, pod.Status.HostIPs = "10.0.0.5", []corev1.HostIP{{IP: "10.0.0.5"}, {IP: "10.0.0.6"}}
		for range 4 {
			*now = now.Add(50 * time.Millisecond)
			r.prove(t.Context(), aPool, []*corev1.Pod{pod}, "b/1")
		}
		if tt.want == "" {
			if len(got) > 0 || connected > 0 {
				t.Errorf("%s: %d tries", name, len(got))
			}
			continue
		}
		// The connection that failed is made again, and the next one is kept.
		if len(got) != 3 || connected != 2 {
			t.Fatalf("%s: %d tries in %d connections", name, len(got), connected)
		}
		all := fmt.Sprint(got[0].Targets)
		last := got[0].Targets[len(got[0].Targets)-4].Address
		if got[0].Digest() != got[2].Digest() || !strings.Contains(all, "10.0.0.1:443") || !strings.Contains(all, "10.0.0.5:10250") || last != tt.want+":10250" {
			t.Errorf("%s: the targets are %s", name, all)
		}
	}
}

// Many sandboxes are tried side by side and not all in one pass, which would keep other pools waiting. None is left out.
func TestTriesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const all = 20
		var flying atomic.Int32
		goOn := make(chan struct{})
		r, now := proving(func(context.Context, toolapi.ProbeRequest) (toolapi.ProbeResponse, error) {
			flying.Add(1)
			<-goOn
			return answer(blocked)
		})
		var pods []*corev1.Pod
		for i := range all {
			pods = append(pods, runs(aPod(fmt.Sprint("pod-", i), time.Minute)))
		}
		for pass, want := range []int32{maxTries, maxTries, maxTries} {
			go r.prove(t.Context(), aPool, pods, "b/1")
			synctest.Wait()
			if n := flying.Swap(0); n != want {
				t.Errorf("in pass %d %d tries are under way, want %d", pass, n, want)
			}
			for range want {
				goOn <- struct{}{}
			}
			synctest.Wait()
			*now = now.Add(time.Second)
		}
		for _, pod := range pods {
			if r.memory.of(aPool, pod.UID).tried.IsZero() {
				t.Errorf("%s was never tried", pod.Name)
			}
		}
	})
}

// A sandbox that a run takes is new.
func TestASandboxThatWasUsedIsNeverOffered(t *testing.T) {
	t.Parallel()
	for name, hello := range map[string]toolapi.Hello{"a call was made": {Used: true}, "a run's engine was there": {Epoch: 1}} {
		r, now := proving(func(context.Context, toolapi.ProbeRequest) (toolapi.ProbeResponse, error) { return answer(blocked) })
		connect := r.Connect
		r.Connect = func(pod *corev1.Pod) (Prober, error) {
			p, err := connect(pod)
			return greeting{p, &hello}, err
		}
		pod := runs(aPod("pod", time.Minute))
		r.memory.knows("pod", "b/1")
		*now = now.Add(triedEvery)
		r.prove(t.Context(), aPool, []*corev1.Pod{pod}, "b/1")
		standing := r.memory.look("pod", "b/1", *now)
		m := memberOf(pod, standing)
		if standing.proved || !m.spent() || r.memory.claim("pod", "run", "b/1", *now) {
			t.Errorf("%s: %+v", name, standing)
		}
	}
}

// greeting is a tool server with another Hello.
type greeting struct {
	Prober
	hello *toolapi.Hello
}

func (g greeting) Hello(context.Context) (toolapi.Hello, error) { return *g.hello, nil }

// A sandbox can be claimed while it is tried: then the try changes nothing about whose it is.
func TestAClaimDuringATryStays(t *testing.T) {
	t.Parallel()
	var r *Reconciler
	claimed := false
	r, now := proving(func(context.Context, toolapi.ProbeRequest) (toolapi.ProbeResponse, error) {
		claimed = r.memory.claim("pod", "run", "b/1", noon)
		return answer(reached)
	})
	r.memory.knows("pod", "b/1")
	*now = now.Add(time.Hour)
	r.prove(t.Context(), aPool, []*corev1.Pod{runs(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID("pod")}})}, "b/1")
	if s := r.memory.look("pod", "b/1", noon); !claimed || !s.taken || r.memory.claim("pod", "another", "b/1", noon) {
		t.Errorf("claimed %t: %+v", claimed, s)
	}
}
