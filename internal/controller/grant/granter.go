// SPDX-License-Identifier: Apache-2.0

// Package grant informs the egress proxy of what the sandbox of a run may reach, and revokes that. A grant is a Secret of the manager's namespace.
package grant

import (
	"context"
	"slices"
	"sync"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/recent"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// renewBefore is the remaining lifetime at which a grant is renewed: enough for another leader to take over.
const renewBefore = 3 * time.Minute

// Granter writes, renews and withdraws the grants of runs, from which the egress proxy reads what they may reach.
type Granter struct {
	client.Client
	// Live reads past the cache: no Secret is ever watched.
	Live client.Reader
	// Recent shares what it reads past the cache, but grants, among runs. Nil: each run reads for itself.
	Recent *recent.Answers
	// Sandbox is the configuration of sandboxes. Grants are in its namespace, and so is Service, that of the egress proxy.
	Sandbox sandbox.Config
	Service string
	// Key is the key from which the tokens and handles of sandboxes are derived.
	Key []byte
	// CiliumPolicies is true if a CiliumNetworkPolicy is written for each run with domains.
	CiliumPolicies bool
	// State is the memory of this process about grants.
	State *State
}

// State is the memory of a process about grants. The zero value is that of a process which has just begun.
type State struct {
	memories      pass.RunCache[memory]
	withoutCilium sync.Once
}

// Grant grants the sandbox its domains at the egress proxy, and its credentials for the engine, before the status shows them. A run that has
// neither domains nor credentials has no grant.
//
//	no address yet ──► granted ──► renewed, widened, narrowed … ──► withdrawn with the sandbox
//	                      ▲                └──► expires while the run rests
//	                      └── written again before the run goes on ◄──┘
func (g *Granter) Grant(ctx context.Context, s *pass.Run) (bool, error) {
	if !needsGrant(s) {
		showNone(s)
		_, err := g.withdraw(ctx, s)
		return true, err
	}
	if g.rests(s) {
		return true, nil
	}
	ips := addresses(s.Pod)
	if len(ips) == 0 {
		s.Block(v1alpha1.ConditionEgressReady, v1alpha1.ReasonEgressPending, awaitingMessage, false)
		return false, nil
	}
	st, proxy := g.State.memories.Of(s.Run), ""
	if len(s.Domains) > 0 {
		var err error
		if proxy, err = g.proxy(ctx, s, st); err != nil {
			return false, err
		}
	}
	if err := g.readCredentials(ctx, s, st); err != nil {
		return false, err
	}
	want := g.compose(s, st, ips)
	if done, err := g.write(ctx, s, st, want); err != nil || !done {
		return false, err
	}
	if err := g.ciliumPolicy(ctx, s); err != nil {
		return false, err
	}
	if len(s.Domains) > 0 && proxy == "" {
		// A narrowed grant is written all the same: proxies may run although their Service is gone.
		return false, nil
	}
	show(s, st, want, proxy)
	return true, nil
}

const awaitingMessage = "The sandbox has no address yet that the egress proxy could know it by."

// rests reports whether the run needs no grant now and keeps the one that its status shows, which ends by itself. Runs that wait for people would
// otherwise have their grants renewed and their Secrets read for as long as they wait, however many they are. An answer triggers the pass that makes
// the grant good again, and the engine waits for the status of that pass.
func (g *Granter) rests(s *pass.Run) bool {
	rests, until := runpolicy.Rests(s.Run, s.Progress, s.Observed, s.Now)
	s.Wake(until)
	e := s.Run.Status.Egress
	return rests && e != nil && e.Attempt == s.Run.Status.LatestAttempt().Index && slices.Equal(e.Domains, s.Domains)
}

// needsGrant reports whether the run needs a grant.
func needsGrant(s *pass.Run) bool {
	return len(s.Domains) > 0 || len(s.Run.Spec.Credentials) > 0
}

// WithdrawStale deletes the grant if the address in it is not the sandbox's any more, and reports whether the run may go on. It must come before the
// step that deletes the Pod: the address may be another Pod's a moment later.
func (g *Granter) WithdrawStale(ctx context.Context, s *pass.Run) (bool, error) {
	if !s.HasSandbox() || s.PodState.Phase == sandbox.Ended {
		if gone, err := g.withdraw(ctx, s); err != nil || !gone {
			return false, err
		}
	}
	showAwaiting(s)
	return true, nil
}

// withdraw deletes the grant, and reports whether it is gone.
func (g *Granter) withdraw(ctx context.Context, s *pass.Run) (gone bool, err error) {
	st := g.State.memories.Of(s.Run)
	if s.Run.Status.Egress == nil && st.written == nil {
		return true, nil
	}
	if st.version == nil {
		if found, err := g.find(ctx, s.Run.UID, st); err != nil {
			return false, err
		} else if found {
			// Another leader, which knows more, may have written it: the pass that deletes it decides with this version known.
			s.Wake(s.Now.Add(pass.ConflictPause))
			return false, nil
		}
	} else if err := g.remove(ctx, s.Run.UID, st); err != nil {
		return false, err
	}
	st.written = nil
	s.Run.Status.Egress = nil
	return true, nil
}

// Close deletes the grant of a run that is over, if it may have one. The sweep deletes any that it misses.
func (g *Granter) Close(ctx context.Context, run *v1alpha1.MotorRun) error {
	if !mayHaveGrant(run) {
		return nil
	}
	return g.remove(ctx, run.UID, g.State.memories.Of(run))
}

// Forget forgets a run.
func (g *Granter) Forget(run *v1alpha1.MotorRun) { g.State.memories.Forget(run.UID) }

// CloseGone deletes the grants of the runs of a name that went without a last pass.
func (g *Granter) CloseGone(ctx context.Context, key client.ObjectKey) error {
	for uid, st := range g.State.memories.Gone(key) {
		if st.written != nil {
			if err := g.remove(ctx, uid, st); err != nil {
				return err
			}
		}
		g.State.memories.Forget(uid)
	}
	return nil
}

func mayHaveGrant(run *v1alpha1.MotorRun) bool {
	return run.Status.Egress != nil || len(run.Spec.Credentials) > 0 ||
		apimeta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionEgressReady) != nil
}
