// SPDX-License-Identifier: Apache-2.0

package box

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/proof"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

func TestConfinementIsRecorded(t *testing.T) {
	t.Parallel()
	box := v1alpha1.StepSandbox{Unconfined: []v1alpha1.MissingWall{v1alpha1.WithoutLandlock}, IsolationTries: 4}
	recordConfinement(&box, toolapi.Confinement{Landlock: true, Families: []string{toolapi.FamilyIPv4}})
	if len(box.Unconfined) != 1 || box.Unconfined[0] != v1alpha1.WithoutProcessLimit || len(box.Families) != 1 || box.IsolationTries != 4 {
		t.Errorf("recorded %+v", box)
	}
}

func TestUnconfinedProgramsAreNotRun(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		c            *toolapi.Confinement
		reason, want string
	}{
		// A new sandbox has the filter: the run continues in one.
		"an older tool server": {nil, outcome.ReasonSandboxOutdated, "from the sandbox image of this version"},
		"a kernel without":     {&toolapi.Confinement{Refused: "the kernel needs CONFIG_SECCOMP_FILTER"}, outcome.ReasonIsolationUnverified, "CONFIG_SECCOMP_FILTER"},
		"all is well":          {&toolapi.Confinement{Families: []string{toolapi.FamilyIPv4}}, "", ""},
	} {
		err := confined(tt.c)
		failure, ok := errors.AsType[*outcome.Failure](err)
		if tt.want == "" && err != nil || tt.want != "" && (!ok || failure.Reason != tt.reason || !strings.Contains(failure.Message, tt.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestProofIsRecorded(t *testing.T) {
	t.Parallel()
	var box v1alpha1.StepSandbox
	p := evidence{tries: 3, began: time.Unix(1, 0), confinement: toolapi.Confinement{Families: []string{"IPv4", "IPv9"}, Denied: []string{"IPv6"}, Landlock: true}}
	p.record(&box, &v1alpha1.MotorRun{})
	if !slices.Equal(box.Families, []v1alpha1.AddressFamily{"IPv4"}) || !slices.Equal(box.DeniedFamilies, []v1alpha1.AddressFamily{"IPv6"}) ||
		!slices.Equal(box.Unconfined, []v1alpha1.MissingWall{v1alpha1.WithoutProcessLimit}) {
		t.Errorf("%+v", box)
	}
	p.confinement.ProcessLimit = true
	if p.record(&box, &v1alpha1.MotorRun{}); len(box.Unconfined) > 0 {
		t.Errorf("a wall that is there now is still missing: %+v", box)
	}
}

// probedTools is a tool server that reaches nothing, but in the tries of these numbers. It counts the tries, and its programs have a family of addresses
// of their own.
func probedTools(t *testing.T, open ...int32) (box *Box, tries *atomic.Int32) {
	t.Helper()
	tries = &atomic.Int32{}
	client := enginetest.ToolsAt(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = toolapi.Hello{PodUID: "pod", APIVersion: toolapi.APIVersion, Features: toolapi.Features()}
		if r.URL.Path == toolapi.PathProbe {
			reached := slices.Contains(open, tries.Add(1))
			var request toolapi.ProbeRequest
			_ = json.NewDecoder(r.Body).Decode(&request)
			resp := toolapi.ProbeResponse{Confinement: &toolapi.Confinement{Families: []string{toolapi.FamilyIPv4}}}
			for _, target := range request.Targets {
				resp.Results = append(resp.Results, toolapi.ProbeResult{Name: target.Name, Reached: reached})
			}
			answer = resp
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	made := metav1.NewTime(enginetest.Noon.Add(-time.Hour))
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run"}}
	run.Status.Sandbox = &v1alpha1.SandboxStatus{PodName: "pod", PodUID: "pod", NodeName: "node", NodeIP: "10.0.0.1", CreationTime: &made}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", UID: "pod"}}
	pod.Status.HostIPs = []corev1.HostIP{{IP: "10.0.0.1"}, {IP: "fd00::1"}}
	now := enginetest.Noon
	env := &runenv.Env{
		Live: &nodeReader{pod: pod}, Run: run, Absence: &runenv.Absence{},
		// The clock goes on with each look at it, so that a proof needs no more than its tries.
		Clock: runenv.Clock{Now: func() time.Time { now = now.Add(60 * time.Millisecond); return now }},
	}
	config := Config{IsolationTimeout: time.Minute, Forbidden: []toolapi.ProbeTarget{{Name: "the API server", Network: "tcp", Address: "10.96.0.1:443"}}}
	return &Box{Env: env, config: config, Client: client}, tries
}

// provedBefore returns the tool server's report of a proof that its pool made, with the same targets as a run on that node.
func provedBefore(box *Box) *toolapi.Probed {
	pod := box.Env.Live.(*nodeReader).pod
	try := proof.Try(box.config.Forbidden, proof.NodeAddresses("10.0.0.1", pod, &corev1.Node{}))
	return &toolapi.Probed{
		Targets: try.Digest(), Tries: 5, OverMs: 200,
		Confinement: &toolapi.Confinement{Families: []string{toolapi.FamilyIPv6}, Landlock: true, ProcessLimit: true},
	}
}

// The proof of a pool is taken over, unless it may not be about this sandbox as it is now.
func TestAProofIsTakenOver(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*Box, *toolapi.Hello)
		// made is true if the proof is made.
		made bool
	}{
		"proved by its pool": {func(*Box, *toolapi.Hello) {}, false},
		"another target": {func(box *Box, _ *toolapi.Hello) {
			box.config.Forbidden = append(box.config.Forbidden, toolapi.ProbeTarget{Name: "more", Network: "tcp", Address: "10.96.0.2:443"})
		}, true},
		"another address of the node": {func(box *Box, _ *toolapi.Hello) {
			box.Env.Live.(*nodeReader).pod.Status.HostIPs[1].IP = "fd00::2"
		}, true},
		"another name of a target": {func(box *Box, _ *toolapi.Hello) { box.config.Forbidden[0].Name = "kubernetes" }, false},
		"a call has run":           {func(_ *Box, hello *toolapi.Hello) { hello.Used = true }, true},
		"a policy was away":        {func(box *Box, _ *toolapi.Hello) { box.IsolationLost = true }, true},
		"the age is not known":     {func(box *Box, _ *toolapi.Hello) { box.Env.Run.Status.Sandbox.CreationTime = nil }, true},
		"not proved":               {func(_ *Box, hello *toolapi.Hello) { hello.Probed = nil }, true},
		"too few tries":            {func(_ *Box, hello *toolapi.Hello) { hello.Probed.Tries = 2 }, true},
		"too short":                {func(_ *Box, hello *toolapi.Hello) { hello.Probed.OverMs = 99 }, true},
		"an older tool server":     {func(_ *Box, hello *toolapi.Hello) { hello.Probed.Targets = "" }, true},
		"no report on programs":    {func(_ *Box, hello *toolapi.Hello) { hello.Probed.Confinement = nil }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			box, tries := probedTools(t)
			hello := toolapi.Hello{PodUID: "pod", Probed: provedBefore(box)}
			tt.change(box, &hello)
			made := box.Env.Run.Status.Sandbox.CreationTime
			entry := v1alpha1.StepSandbox{PodUID: "pod", Unconfined: []v1alpha1.MissingWall{v1alpha1.WithoutLandlock}}
			if err := box.confirmIsolation(t.Context(), hello, &entry); err != nil {
				t.Fatal(err)
			}
			if tt.made {
				if tries.Load() < 3 || entry.ProofTime == nil || entry.ProofTime.Time.Before(enginetest.Noon) || !slices.Equal(entry.Families, []v1alpha1.AddressFamily{v1alpha1.FamilyIPv4}) {
					t.Errorf("%d tries: %+v", tries.Load(), entry)
				}
				return
			}
			if tries.Load() != 0 || !entry.ProofTime.Equal(made) || entry.IsolationTries != 5 || entry.IsolationMilliseconds != 0 ||
				!slices.Equal(entry.Families, []v1alpha1.AddressFamily{v1alpha1.FamilyIPv6}) || len(entry.Unconfined) > 0 {
				t.Errorf("%d tries: %+v", tries.Load(), entry)
			}
		})
	}
}

// An engine that takes the run over from another one keeps the time of the proof, which is later than that of the Pod.
func TestAProofInTheJournalStays(t *testing.T) {
	t.Parallel()
	box, tries := probedTools(t)
	entry := v1alpha1.StepSandbox{PodUID: "pod", IsolationTries: 3, ProofTime: new(metav1.NewTime(enginetest.Noon)), Unconfined: []v1alpha1.MissingWall{v1alpha1.WithoutLandlock}}
	if err := box.confirmIsolation(t.Context(), toolapi.Hello{PodUID: "pod", Probed: provedBefore(box)}, &entry); err != nil {
		t.Fatal(err)
	}
	if tries.Load() != 0 || !entry.ProofTime.Time.Equal(enginetest.Noon) || entry.IsolationTries != 3 || len(entry.Unconfined) > 0 {
		t.Errorf("%d tries: %+v", tries.Load(), entry)
	}
}

// A sandbox from a pool may have other labels than those with which it was proved, and a policy may select by these.
func TestASandboxFromAPoolIsTriedOnceMore(t *testing.T) {
	t.Parallel()
	waiting := map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentSandbox, v1alpha1.LabelPool: "warm"}
	taken := map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentSandbox, v1alpha1.LabelRun: "run"}
	both := map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentSandbox, v1alpha1.LabelPool: "warm", v1alpha1.LabelRun: "run"}
	other := map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentSandbox, v1alpha1.LabelPool: "cold"}
	for name, tt := range map[string]struct {
		labels map[string]string
		change func(*corev1.Pod)
		open   []int32
		tries  int32
		proof  bool
	}{
		"closed, with new labels":      {labels: taken, tries: 1},
		"open with its new labels":     {labels: taken, open: []int32{1, 2}, tries: 5, proof: true},
		"with the labels of its pool":  {labels: waiting},
		"with the label of a run too":  {labels: both, tries: 1},
		"with the label of another":    {labels: other, tries: 1},
		"without labels":               {tries: 1},
		"another Pod has its name now": {labels: waiting, change: func(p *corev1.Pod) { p.UID = "other" }, tries: 3, proof: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			box, tries := probedTools(t, tt.open...)
			box.Env.Run.Status.Sandbox.PoolName = "warm"
			pod := box.Env.Live.(*nodeReader).pod
			pod.Labels = tt.labels
			hello := toolapi.Hello{PodUID: "pod", Probed: provedBefore(box)}
			if tt.change != nil {
				tt.change(pod)
			}
			entry := v1alpha1.StepSandbox{PodUID: "pod"}
			if err := box.confirmIsolation(t.Context(), hello, &entry); err != nil {
				t.Fatal(err)
			}
			if made := entry.ProofTime.Equal(box.Env.Run.Status.Sandbox.CreationTime); tries.Load() < tt.tries || !tt.proof && tries.Load() > tt.tries || made == tt.proof {
				t.Errorf("%d tries: %+v", tries.Load(), entry)
			}
		})
	}
}
