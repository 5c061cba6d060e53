// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// renewBefore is how much of a grant's lifetime is left when it is renewed: enough for another leader to take over.
const renewBefore = 3 * time.Minute

// granter tells the egress proxy what runs may reach: it writes, renews and withdraws their grants.
type granter struct {
	client.Client
	// Live reads past the cache: no Secret is ever watched.
	Live client.Reader
	// Sandbox is how sandboxes are made. Grants are in its namespace, and so is Service, that of the egress proxy.
	Sandbox sandbox.Config
	Service string
	// Key is what the tokens and handles of sandboxes are derived from.
	Key []byte
	// CiliumPolicies says that a CiliumNetworkPolicy is written for each run with domains.
	CiliumPolicies bool
	// State is what this process remembers of grants.
	State *grantState
}

// grantState is what a process remembers of grants. The zero value is that of a process which has just begun.
type grantState struct {
	memories      pass.RunCache[memory]
	withoutCilium sync.Once
}

// grant tells the egress proxy what the sandbox may reach, and the engine which credentials it has, before the status says
// so. A run that has neither domains nor credentials has no grant.
//
//	no address yet ──► granted ──► renewed, widened, narrowed … ──► withdrawn with the sandbox
func (g *granter) grant(ctx context.Context, s *pass.Run) (bool, error) {
	if !needsGrant(s) {
		showNoGrant(s)
		_, err := g.withdraw(ctx, s)
		return true, err
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
	if done, err := g.writeGrant(ctx, s, st, want); err != nil || !done {
		return false, err
	}
	if err := g.secondWall(ctx, s); err != nil {
		return false, err
	}
	if len(s.Domains) > 0 && proxy == "" {
		// What was narrowed is written all the same: proxies may run although their Service is gone.
		return false, nil
	}
	showGrant(s, st, want, proxy)
	return true, nil
}

const awaitingMessage = "The sandbox has no address yet that the egress proxy could know it by."

// showAwaiting says that there is no grant until there is a sandbox.
func showAwaiting(s *pass.Run) {
	if needsGrant(s) && s.Run.Status.Egress == nil {
		s.Set(v1alpha1.ConditionEgressReady, metav1.ConditionFalse, v1alpha1.ReasonEgressPending, awaitingMessage)
	}
}

// needsGrant reports whether there is anything to tell of the run.
func needsGrant(s *pass.Run) bool {
	return len(s.Domains) > 0 || len(s.Run.Spec.Credentials) > 0
}

func addresses(pod *corev1.Pod) []netip.Addr {
	var list []netip.Addr
	for _, ip := range pod.Status.PodIPs {
		if a, err := netip.ParseAddr(ip.IP); err == nil {
			list = append(list, a.Unmap())
		}
	}
	return list
}

// proxyAddress is where sandboxes find the egress proxy, "" if nowhere.
func (g *granter) proxyAddress(ctx context.Context) (string, error) {
	var service corev1.Service
	err := g.Live.Get(ctx, client.ObjectKey{Namespace: g.Sandbox.Namespace, Name: g.Service}, &service)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("get the Service of the egress proxy: %w", err)
	}
	ip, err := netip.ParseAddr(service.Spec.ClusterIP)
	if err != nil {
		// A headless one has none that a sandbox, which resolves no names, could go to.
		return "", nil //nolint:nilerr // "None" and "" are no addresses
	}
	return netip.AddrPortFrom(ip, grant.Port).String(), nil
}

// proxy gives the proxy's address, as of readAgain ago at most. It blocks the run if there is none, and leaves its engine
// alone if it has one: what needs no way out goes on.
func (g *granter) proxy(ctx context.Context, s *pass.Run, st *memory) (string, error) {
	if st.proxy == "" || s.Now.Sub(st.proxyAt) >= readAgain {
		address, err := g.proxyAddress(ctx)
		if err != nil {
			return "", err
		}
		st.proxy, st.proxyAt = address, s.Now
	}
	if st.proxy == "" {
		s.Block(v1alpha1.ConditionEgressReady, v1alpha1.ReasonEgressUnavailable, g.noProxyMessage(), true)
		s.Wake(s.Now.Add(s.Pause()))
	}
	return st.proxy, nil
}

func (g *granter) noProxyMessage() string {
	return fmt.Sprintf("The run asks for domains, and there is no egress proxy: the Service %s in namespace %s does not exist or has no address of its own. "+
		"Install the egress proxy.", g.Service, g.Sandbox.Namespace)
}

// compose builds the grant as it must be now, without its CA.
func (g *granter) compose(s *pass.Run, st *memory, ips []netip.Addr) *grant.Grant {
	run, attempts := s.Run, s.Run.Status.Attempts
	uid, podUID, attempt := string(run.UID), string(s.Pod.UID), attempts[len(attempts)-1].Index
	want := &grant.Grant{
		RunUID: uid, Namespace: run.Namespace, Run: run.Name, PodName: s.Pod.Name, PodUID: podUID, PodIPs: ips,
		TokenHash: grant.HashToken(grant.Token(g.Key, uid, podUID, attempt)), Attempt: attempt,
		Domains: texts(s.Domains), ExpiresAt: s.Now.Add(grant.Lifetime).UTC().Truncate(time.Second),
	}
	for i := range run.Spec.Credentials {
		c := &run.Spec.Credentials[i]
		if read := st.credentials[c.Name]; read.problem == nil {
			want.Credentials = append(want.Credentials, grant.Credential{
				Name: c.Name, Handle: grant.Handle(g.Key, uid, podUID, c.Name), Hosts: texts(c.Hosts), Slot: c.Slot, Value: read.value,
				Exposed: c.ExposeToSandbox,
			})
		}
	}
	return want
}

func texts(domains []v1alpha1.Domain) []string {
	list := make([]string, 0, len(domains))
	for _, d := range domains {
		list = append(list, string(d))
	}
	return list
}

// showGrant writes into the status what was granted, and asks for the pass that renews it.
func showGrant(s *pass.Run, st *memory, g *grant.Grant, proxy string) {
	var names, missing []string
	for i := range s.Run.Spec.Credentials {
		c := &s.Run.Spec.Credentials[i]
		if p := st.credentials[c.Name].problem; p != nil {
			missing = append(missing, problemText(p))
			continue
		}
		names = append(names, c.Name)
	}
	s.Run.Status.Egress = &v1alpha1.EgressStatus{Domains: s.Domains, Proxy: proxy, Credentials: names, Attempt: g.Attempt}
	way := metav1.ConditionTrue
	if len(s.Domains) == 0 {
		// Credentials alone are no way out.
		way = metav1.ConditionFalse
	}
	switch {
	case len(s.Domains) == 0 && len(s.LeftOut) > 0:
		s.Set(v1alpha1.ConditionEgressReady, way, v1alpha1.ReasonDomainNotAllowed, leftOutMessage(s.LeftOut))
	case len(missing) > 0:
		s.Set(v1alpha1.ConditionEgressReady, way, v1alpha1.ReasonCredentialUnavailable, strings.Join(missing, " "))
	case len(s.LeftOut) > 0:
		s.Set(v1alpha1.ConditionEgressReady, way, v1alpha1.ReasonEgressGranted, leftOutMessage(s.LeftOut))
	case len(s.Domains) == 0:
		s.Set(v1alpha1.ConditionEgressReady, way, v1alpha1.ReasonNoDomains, "The run has no domains, so the sandbox has no way out. Its credentials are ready.")
	default:
		s.Set(v1alpha1.ConditionEgressReady, way, v1alpha1.ReasonEgressGranted, "The egress proxy lets the sandbox reach status.egress.domains.")
	}
	s.Wake(st.written.ExpiresAt.Add(-renewBefore))
	if len(s.Run.Spec.Credentials) > 0 {
		s.Wake(st.readAt.Add(readAgain))
	}
}

// leftOutMessage does not say which of them for which reason: what the spec has was checked before, so it is the bounds that
// were narrowed, or a run that was allowed more than a run can have.
func leftOutMessage(domains []v1alpha1.Domain) string {
	text := strconv.Itoa(len(domains)) + " domains"
	if len(domains) == 1 {
		text = string(domains[0])
	}
	return fmt.Sprintf("The run does not get %s: beyond spec.egress.allowedDomains of the namespace's MotorCortex, or more than a run can have.", text)
}

// showNoGrant takes away what an earlier pass said, unless it was taken away from the run.
func showNoGrant(s *pass.Run) {
	if len(s.LeftOut) > 0 {
		s.Set(v1alpha1.ConditionEgressReady, metav1.ConditionFalse, v1alpha1.ReasonDomainNotAllowed, leftOutMessage(s.LeftOut))
		return
	}
	apimeta.RemoveStatusCondition(&s.Run.Status.Conditions, v1alpha1.ConditionEgressReady)
}

// withdraw takes the grant away, and reports whether it is gone.
func (g *granter) withdraw(ctx context.Context, s *pass.Run) (gone bool, err error) {
	st := g.State.memories.Of(s.Run)
	if s.Run.Status.Egress == nil && st.written == nil {
		return true, nil
	}
	if st.version == nil {
		if found, err := g.findGrant(ctx, s.Run.UID, st); err != nil {
			return false, err
		} else if found {
			// It may be another leader's, who knows more: the pass that deletes it decides with this version known.
			s.Wake(s.Now.Add(pass.ConflictPause))
			return false, nil
		}
	} else if err := g.deleteGrant(ctx, s.Run.UID, st); err != nil {
		return false, err
	}
	st.written = nil
	s.Run.Status.Egress = nil
	return true, nil
}

// closeGrant deletes the grant of a run that is over, if it may have one. What it leaves behind, the sweep takes.
func (g *granter) closeGrant(ctx context.Context, run *v1alpha1.MotorRun) error {
	if !mayHaveGrant(run) {
		return nil
	}
	return g.deleteGrant(ctx, run.UID, g.State.memories.Of(run))
}

// forgetGrant forgets a run.
func (g *granter) forgetGrant(run *v1alpha1.MotorRun) { g.State.memories.Forget(run.UID) }

// closeGone deletes the grants of the runs of a name that went without a last pass.
func (g *granter) closeGone(ctx context.Context, key client.ObjectKey) error {
	for uid, st := range g.State.memories.Gone(key) {
		if st.written != nil {
			if err := g.deleteGrant(ctx, uid, st); err != nil {
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
