// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"motorcortex.dev/motorcortex/internal/egress"
	"motorcortex.dev/motorcortex/internal/egress/grant"
)

func counted(t *testing.T, registry *prometheus.Registry, result string) int {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if m.GetLabel()[0].GetValue() == result {
				return int(m.GetCounter().GetValue())
			}
		}
	}
	return 0
}

func TestReporter(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset()
	names := 0
	client.PrependReactor("create", "events", func(a k8stesting.Action) (bool, runtime.Object, error) {
		e := a.(k8stesting.CreateAction).GetObject().(*eventsv1.Event)
		if e.Namespace == "gone" {
			return true, nil, errors.New("the namespace is being deleted")
		}
		names++
		e.Name = fmt.Sprint(e.GenerateName, names)
		return false, nil, nil
	})
	registry := prometheus.NewRegistry()
	now := time.Unix(1_700_000_000, 0)
	r, err := NewReporter(client.EventsV1(), "pod-1", registry, slog.New(slog.DiscardHandler), func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	a := &grant.Grant{Namespace: "ns", Run: "a", RunUID: "uid-a"}
	r.Denied(a, egress.Denial{Reason: egress.ReasonNotAllowed, Host: "evil.test", Port: 443})
	r.Denied(a, egress.Denial{Reason: egress.ReasonNotAllowed, Host: "evil.test", Port: 443})
	r.Denied(a, egress.Denial{Reason: egress.ReasonCredentialMisuse, Host: "evil.test", Port: 443, Credential: "token"})
	for i := range 20 {
		r.Denied(a, egress.Denial{Reason: egress.ReasonNotAllowed, Host: fmt.Sprintf("h%d.test", i), Port: 443})
	}
	r.Denied(&grant.Grant{Namespace: "other", Run: "b", RunUID: "uid-b"}, egress.Denial{Reason: egress.ReasonNotAllowed, Host: "evil.test", Port: 443})
	r.Denied(&grant.Grant{Namespace: "gone", Run: "c", RunUID: "uid-c"}, egress.Denial{Reason: egress.ReasonNotAllowed, Host: "evil.test", Port: 443})
	r.Denied(nil, egress.Denial{})
	now = now.Add(window)
	r.Denied(a, egress.Denial{Reason: egress.ReasonNotAllowed, Host: "evil.test", Port: 443})

	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Run(ctx)
	}()
	eventually(t, "all reports are dealt with", func() bool {
		return counted(t, registry, resultSent)+counted(t, registry, resultLimited)+counted(t, registry, resultFailed) == 26
	})
	stop()
	<-done
	if sent := counted(t, registry, resultSent); sent != maxPerRun+3 || counted(t, registry, resultFailed) != 1 {
		t.Errorf("%d Events were sent, %d failed", sent, counted(t, registry, resultFailed))
	}
	list, err := client.EventsV1().Events("ns").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != maxPerRun+2 {
		t.Fatalf("%d Events, %v", len(list.Items), err)
	}
	notes := map[string]eventsv1.Event{}
	for _, e := range list.Items {
		notes[e.Note] = e
	}
	e, ok := notes["evil.test:443: domain_not_allowed"]
	if !ok || e.Reason != reasonDenied || e.Type != "Warning" || e.Action != action || e.ReportingController == "" || e.ReportingInstance != "pod-1" ||
		e.EventTime.IsZero() || e.Regarding.Kind != "MotorRun" || e.Regarding.Name != "a" || e.Regarding.UID != "uid-a" || e.Regarding.Namespace != "ns" {
		t.Errorf("the Event is %+v", e)
	}
	if e := notes["evil.test:443: credential_misuse (credential token)"]; e.Reason != reasonMisuse {
		t.Errorf("the Event of a misuse is %+v", e)
	}
}

// A proxy whose Events cannot be written serves all the same.
func TestReporterNeverWaits(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	r, err := NewReporter(fake.NewClientset().EventsV1(), "pod-1", registry, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	denied := func(run int, d egress.Denial) {
		r.Denied(&grant.Grant{Namespace: "ns", Run: "a", RunUID: fmt.Sprint(run)}, d)
	}
	for i := range maxQueue + 5 {
		denied(i, egress.Denial{Reason: egress.ReasonNotAllowed})
	}
	if n := counted(t, registry, resultDropped); n != 5 {
		t.Errorf("%d were dropped, want 5", n)
	}
	// A dropped refusal was not written: the next one of its kind may be.
	<-r.queue
	denied(maxQueue+1, egress.Denial{Reason: egress.ReasonNotAllowed})
	if len(r.queue) != maxQueue {
		t.Error("a refusal that was dropped counts as one that was written")
	}
	// Misuse does not wait behind all that.
	denied(0, egress.Denial{Reason: egress.ReasonCredentialMisuse})
	if len(r.misuse) != 1 {
		t.Error("a misuse was not taken")
	}
}

// One run cannot push the refusals of others out, nor its own misuse.
func TestReporterBurst(t *testing.T) {
	t.Parallel()
	r, err := NewReporter(fake.NewClientset().EventsV1(), "pod-1", prometheus.NewRegistry(), slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	loud := &grant.Grant{Namespace: "ns", Run: "a", RunUID: "loud"}
	for i := range 10 * maxQueue {
		r.Denied(loud, egress.Denial{Reason: egress.ReasonNotAllowed, Host: fmt.Sprint("h", i)})
	}
	if len(r.queue) != maxPerRun {
		t.Errorf("%d of one run wait, want %d", len(r.queue), maxPerRun)
	}
	r.Denied(&grant.Grant{Namespace: "ns", Run: "b", RunUID: "other"}, egress.Denial{Reason: egress.ReasonNotAllowed, Host: "h"})
	if len(r.queue) != maxPerRun+1 {
		t.Error("the other run's refusal was lost")
	}
	for _, reason := range []egress.Reason{egress.ReasonCredentialMisuse, egress.ReasonCredentialPlaintext, egress.ReasonWrongSource, egress.ReasonUpstreamTLS} {
		r.Denied(loud, egress.Denial{Reason: reason, Host: "h"})
	}
	r.Denied(loud, egress.Denial{Reason: egress.ReasonCredentialMisuse, Host: "h", Credential: "another"})
	if len(r.misuse) != 5 {
		t.Errorf("%d of misuse wait, want 5", len(r.misuse))
	}
}

func TestNoteIsBounded(t *testing.T) {
	t.Parallel()
	for _, host := range []string{strings.Repeat("é", 5000), "a\r\nb\x00\x1b[31m", "\xff\xfe"} {
		got := note(egress.Denial{Reason: egress.ReasonBadHost, Host: host, Port: 1, Credential: strings.Repeat("c", 5000)})
		if len(got) > maxNote || !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return r < 0x20 || r > 0x7e }) {
			t.Errorf("the note is %q", got)
		}
	}
}

func TestLimiterForgets(t *testing.T) {
	t.Parallel()
	l := newLimiter()
	at := time.Unix(1_700_000_000, 0)
	for i := range 1000 {
		l.note(report{uid: fmt.Sprint(i), denial: egress.Denial{Host: "h"}, at: at})
	}
	if !l.allows(report{uid: "0", denial: egress.Denial{Host: "h"}, at: at.Add(window)}) || len(l.alike) != 0 || len(l.ofRun) != 0 {
		t.Errorf("%d and %d are remembered", len(l.alike), len(l.ofRun))
	}
}
