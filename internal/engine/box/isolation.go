// SPDX-License-Identifier: Apache-2.0

package box

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/proof"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// evidence is that for the isolation of a sandbox.
type evidence struct {
	tries int32
	// after is how long it took from the first try until all was blocked.
	after time.Duration
	// began is when the first try was made.
	began time.Time
	// open are the addresses that were still reachable at the end, if that is allowed. There are no tries then.
	open []string
	// confinement is the tool server's report about its programs.
	confinement toolapi.Confinement
}

// prove waits until the sandbox reaches none of the forbidden addresses, several times in a row. A CNI enforces the policies of
// a new Pod only some time after it runs; until then nothing hostile may be in it.
//
// A sandbox in which calls have run is tested again when one of its policies was away, after everything in it was ended; see
// halt.go. That shows that the policies hold again. It cannot show what the programs in the sandbox sent meanwhile. The
// tool server makes the test: against a program that had control of it the test would show nothing.
func (s *Box) prove(ctx context.Context, request toolapi.ProbeRequest) (evidence, error) {
	start := s.Env.Now()
	var c proof.Confirmation
	for {
		round := s.Env.Now()
		resp, err := s.Client.Probe(ctx, request)
		if err != nil {
			return evidence{}, s.Env.Classify(ctx, err)
		}
		if err := confined(resp.Confinement); err != nil {
			return evidence{}, err
		}
		open := resp.Open()
		if len(open) > 0 && round.Sub(start) > s.config.IsolationTimeout {
			return s.unproved(open, evidence{began: start, after: round.Sub(start), confinement: *resp.Confinement})
		}
		if c.Add(len(open) == 0, round, s.Env.Now()) {
			return evidence{tries: c.Tries, after: c.First.Sub(start), began: start, confinement: *resp.Confinement}, nil
		}
		select {
		case <-time.After(proof.Pause - s.Env.Now().Sub(round)):
		case <-ctx.Done():
			return evidence{}, ctx.Err()
		}
	}
}

// proveIsolation makes the proof, and records it in the steps' entry of the sandbox.
func (s *Box) proveIsolation(ctx context.Context, box *v1alpha1.StepSandbox) error {
	return s.confirmIsolation(ctx, toolapi.Hello{}, box)
}

// confirmIsolation records in the steps' entry of the sandbox that it is closed. It takes a proof that was made to the process that speaks, by the
// pool of the sandbox or by a former engine, if nothing has run there and no policy was away since. Otherwise it makes the proof.
func (s *Box) confirmIsolation(ctx context.Context, hello toolapi.Hello, box *v1alpha1.StepSandbox) error {
	nodes, pod, err := s.nodeAddresses(ctx)
	if err != nil {
		return err
	}
	try := proof.Try(s.config.Forbidden, nodes)
	p, made := hello.Probed, s.Env.Run.Status.Sandbox.CreationTime
	holds := made != nil && !s.IsolationLost && !hello.Used && proof.Holds(p, try)
	if holds && box.ProofTime == nil && !s.keepsLabels(pod) {
		if holds, err = s.stillClosed(ctx, try); err != nil {
			return err
		}
	}
	switch {
	case !holds:
		e, err := s.prove(ctx, try)
		if err != nil {
			return err
		}
		e.record(box, s.Env.Run)
	case box.ProofTime == nil:
		// It is as old as the Pod at most. A later instant could hide the loss of a policy that this engine has not seen yet.
		evidence{tries: p.Tries, began: made.Time, confinement: *p.Confinement}.record(box, s.Env.Run)
	default:
		// The journal may have the proof to a former process, which was confined in another way.
		recordConfinement(box, *p.Confinement)
	}
	return nil
}

// keepsLabels reports whether the Pod of a sandbox has the labels with which it was proved. Policies select by labels, so a proof says nothing about a
// Pod with others. Only the write by which a run takes a Pod from a pool changes them.
func (s *Box) keepsLabels(pod *corev1.Pod) bool {
	pool := s.Env.Run.Status.Sandbox.PoolName
	_, ofRun := pod.Labels[v1alpha1.LabelRun]
	return pool == "" || !ofRun && pod.Labels[v1alpha1.LabelPool] == pool
}

// stillClosed makes one try, and reports whether nothing was reached.
func (s *Box) stillClosed(ctx context.Context, try toolapi.ProbeRequest) (bool, error) {
	resp, err := s.Client.Probe(ctx, proof.Look(try))
	if err != nil {
		return false, s.Env.Classify(ctx, err)
	}
	return len(resp.Open()) == 0 && confined(resp.Confinement) == nil, nil
}

// unproved decides about a sandbox whose isolation was not proved in time.
func (s *Box) unproved(open []string, p evidence) (evidence, error) {
	if !s.config.AllowUnenforced {
		return evidence{}, unverified(open, s.config.IsolationTimeout)
	}
	s.Env.Log.Warn("the sandbox reaches what it must not, which is allowed here", "open", strings.Join(open, ", "))
	for _, name := range open[:min(len(open), maxOpen)] {
		p.open = append(p.open, text.FirstBytes(name, maxOpenName))
	}
	return p, nil
}

// maxOpen and maxOpenName are how many names of which length, in bytes, a step has.
const (
	maxOpen     = 16
	maxOpenName = 128
)

// record writes the proof into the steps' entry of the sandbox.
func (p evidence) record(box *v1alpha1.StepSandbox, run *v1alpha1.MotorRun) {
	box.IsolationTries, box.IsolationMilliseconds, box.Open = p.tries, p.after.Milliseconds(), p.open
	recordConfinement(box, p.confinement)
	// It counts in whole seconds, and is always later than the loss that this loop was started with. See runpolicy.ProvedAt.
	box.ProofTime = new(runpolicy.ProvedAt(run, p.began))
}

// recordConfinement writes how programs are confined into the steps' entry of the sandbox.
func recordConfinement(box *v1alpha1.StepSandbox, c toolapi.Confinement) {
	box.Families, box.DeniedFamilies = familiesOf(c.Families), familiesOf(c.Denied)
	box.Unconfined = nil
	if !c.Landlock {
		box.Unconfined = append(box.Unconfined, v1alpha1.WithoutLandlock)
	}
	if !c.ProcessLimit {
		box.Unconfined = append(box.Unconfined, v1alpha1.WithoutProcessLimit)
	}
}

// familiesOf returns the names that the API knows.
func familiesOf(names []string) []v1alpha1.AddressFamily {
	var families []v1alpha1.AddressFamily
	for _, f := range []v1alpha1.AddressFamily{v1alpha1.FamilyIPv4, v1alpha1.FamilyIPv6} {
		if slices.Contains(names, string(f)) {
			families = append(families, f)
		}
	}
	return families
}

// confined returns a failure for a sandbox whose programs the kernel does not confine. Another try would have the same result.
func confined(c *toolapi.Confinement) error {
	switch {
	case c == nil:
		// A new sandbox has the filter, unless its image is an older one: then the next attempts end in the same way.
		return runenv.Outdated(errors.New("its tool server does not filter the system calls of programs, so nothing was run in it. " +
			"An image of your own has to be made from the sandbox image of this version"))
	case c.Refused == "":
		return nil
	}
	return &outcome.Failure{
		Category: outcome.InfraFailure,
		Reason:   outcome.ReasonIsolationUnverified,
		Message: "Nothing was run in the sandbox, because programs in it could have sockets of families for which the cluster's walls are not proved: " +
			text.FirstBytes(c.Refused, 600) + ".",
	}
}

func unverified(open []string, after time.Duration) error {
	return &outcome.Failure{
		Category: outcome.InfraFailure,
		Reason:   outcome.ReasonIsolationUnverified,
		Message: fmt.Sprintf("After %s the sandbox still reached %s, so nothing was run in it. "+
			"The cluster's network plugin must enforce NetworkPolicy, for egress too.", after, strings.Join(open, ", ")),
	}
}
