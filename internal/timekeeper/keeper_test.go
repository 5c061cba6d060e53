// SPDX-License-Identifier: Apache-2.0

package timekeeper

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	"motorcortex.dev/motorcortex/internal/runpolicy/observed"
)

const namespace = "motorcortex-system"

// installation is the one object that all managers share, and the API server's clock.
type installation struct {
	t   *testing.T
	api *fake.Clientset
	now time.Time
	// away is the error of every request.
	away error
}

func newInstallation(t *testing.T) *installation {
	t.Helper()
	i := &installation{t: t, api: fake.NewClientset(), now: noon}
	i.api.PrependReactor("*", "leases", func(kubetesting.Action) (bool, runtime.Object, error) { return i.away != nil, nil, i.away })
	return i
}

func (i *installation) manager() *Keeper {
	return &Keeper{
		Leases: i.api.CoordinationV1().Leases(namespace), Namespace: namespace, Clock: func() time.Time { return i.now }, Logger: slog.New(slog.DiscardHandler),
	}
}

// leads has a manager write heartbeats for so long.
func (i *installation) leads(k *Keeper, d time.Duration) {
	i.t.Helper()
	for end := i.now.Add(d); i.now.Before(end); i.now = i.now.Add(DefaultPeriod) {
		if err := k.Beat(i.t.Context(), time.Minute); err != nil {
			i.t.Fatal(err)
		}
	}
}

func (i *installation) lease() *coordinationv1.Lease {
	i.t.Helper()
	l, err := i.api.CoordinationV1().Leases(namespace).Get(i.t.Context(), LeaseName, metav1.GetOptions{})
	if err != nil {
		i.t.Fatal(err)
	}
	return l
}

func wantGaps(t *testing.T, k *Keeper, want ...time.Duration) {
	t.Helper()
	var got []time.Duration
	for _, g := range k.Observed().Gaps {
		got = append(got, g.To.Sub(g.From))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
}

func TestLeadersFollowEachOtherWithoutAGap(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	a, b := i.manager(), i.manager()
	i.leads(a, time.Minute)
	i.now = i.now.Add(12 * time.Second) // The Lease of the leader runs out.
	i.leads(b, time.Minute)
	wantGaps(t, b)
	if until := b.Observed().Until; until.Before(i.now) {
		t.Errorf("until %s, now %s", until, i.now)
	}
}

func TestNewLeaderFindsTheGap(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	a, b, c := i.manager(), i.manager(), i.manager()
	i.leads(a, time.Minute)
	i.now = i.now.Add(time.Hour)
	if o := a.Observed(); !o.Now(i.now).Before(noon.Add(2 * time.Minute)) {
		t.Error("before the heartbeat time passes all the same")
	}
	i.leads(b, time.Minute)
	wantGaps(t, b, time.Hour+DefaultPeriod)
	i.now = i.now.Add(10 * time.Minute)
	i.leads(c, time.Minute)
	wantGaps(t, c, time.Hour+DefaultPeriod, 10*time.Minute+DefaultPeriod)
	// A replica that does not lead reads it.
	d := i.manager()
	d.see(i.lease())
	if diff := cmp.Diff(c.Observed(), d.Observed()); diff != "" {
		t.Error(diff)
	}
}

// A leader that was frozen, or cut off, finds its own gap.
func TestLeaderThatWasCutOff(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	k := i.manager()
	i.leads(k, time.Minute)
	i.away = errors.New("the API server is away")
	for range 10 {
		i.now = i.now.Add(time.Minute)
		if err := k.Beat(t.Context(), time.Minute); err == nil {
			t.Fatal("a heartbeat without an API server")
		}
	}
	i.away = nil
	i.leads(k, time.Minute)
	wantGaps(t, k, 10*time.Minute+DefaultPeriod)
}

func TestFirstHeartbeatIsNoGap(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	k := i.manager()
	if o := k.Observed(); o.Until.IsZero() || !o.Now(i.now).Before(noon) {
		t.Errorf("before the first heartbeat all time counts: %+v", o)
	}
	i.leads(k, time.Minute)
	wantGaps(t, k)
}

// A value of a wrong clock is no reason to let time pass, nor to stop it.
func TestHeartbeatOfAWrongClock(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	k := i.manager()
	i.now = noon.Add(time.Hour)
	i.leads(k, DefaultPeriod)
	i.now = noon
	i.leads(k, time.Minute)
	wantGaps(t, k)
	if until := k.Observed().Until; until.After(noon.Add(2 * time.Minute)) {
		t.Errorf("until %s", until)
	}
}

// A heartbeat that is not written for longer than a change of leaders takes is reported, with the error, and again when it is over.
func TestHeartbeatThatCannotBeWrittenIsToldOf(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	k := i.manager()
	var told []string
	k.Failing = func(err error) { told = append(told, fmt.Sprint(err)) }
	k.since = i.now
	tries := func(d time.Duration) {
		for end := i.now.Add(d); i.now.Before(end); i.now = i.now.Add(DefaultPeriod) {
			k.tell(k.Beat(t.Context(), time.Minute))
		}
	}
	want := func(when string, n int, last string) {
		t.Helper()
		if len(told) != n || n > 0 && !strings.Contains(told[n-1], last) {
			t.Errorf("%s: told %q", when, told)
		}
	}
	if i.now = i.now.Add(time.Minute); k.Silence() != time.Minute {
		t.Errorf("before the first heartbeat: silent for %s", k.Silence())
	}
	tries(time.Minute)
	want("all is well", 0, "")
	if k.Silence() > DefaultPeriod {
		t.Errorf("silent for %s", k.Silence())
	}
	i.away = errors.New("leases is forbidden")
	tries(10 * time.Second)
	i.away = nil
	tries(DefaultPeriod)
	want("another leader takes as long", 0, "")
	i.away = errors.New("leases is forbidden")
	tries(time.Minute)
	want("forbidden", 1, "leases is forbidden")
	if k.Silence() < time.Minute {
		t.Errorf("silent for %s", k.Silence())
	}
	tries(20 * time.Minute)
	want("still forbidden", 3, "leases is forbidden")
	i.away = nil
	tries(time.Minute)
	want("allowed again", 4, "<nil>")
}

// The deletion of the Lease removes no gap, neither from the leader nor from another replica that follows it.
func TestDeletedLeaseIsMadeAgainWithItsGaps(t *testing.T) {
	t.Parallel()
	for name, another := range map[string]bool{"the same leader": false, "another replica": true} {
		i := newInstallation(t)
		k := i.manager()
		i.leads(k, time.Minute)
		i.now = i.now.Add(time.Hour)
		i.leads(k, time.Minute)
		leases := i.api.CoordinationV1().Leases(namespace)
		if another {
			next := i.manager()
			next.see(i.lease())
			k = next
		}
		if err := leases.Delete(t.Context(), LeaseName, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		want := []time.Duration{time.Hour + DefaultPeriod}
		if another {
			// The time without a leader that no replica has recorded.
			i.now = i.now.Add(10 * time.Minute)
			want = append(want, 10*time.Minute+DefaultPeriod)
		}
		// A leader learns from its own write that the Lease is gone.
		for tries := 0; k.Beat(t.Context(), time.Minute) != nil; tries++ {
			if tries > 1 {
				t.Fatalf("%s: no heartbeat", name)
			}
		}
		i.leads(k, time.Minute)
		wantGaps(t, k, want...)
		fresh := i.manager()
		fresh.see(i.lease())
		wantGaps(t, fresh, want...)
	}
}

func TestLateWatchTakesNothingBack(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	k := i.manager()
	i.leads(k, time.Minute)
	old := i.lease()
	i.now = i.now.Add(time.Hour)
	i.leads(k, time.Minute)
	k.see(old)
	wantGaps(t, k, time.Hour+DefaultPeriod)
	k.see(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "motorcortex-worker-1"}})
	wantGaps(t, k, time.Hour+DefaultPeriod)
}

func TestGapsAreBounded(t *testing.T) {
	t.Parallel()
	var all []observed.Gap
	for i := range 1000 {
		from := noon.Add(time.Duration(i) * time.Minute)
		all = append(all, observed.Gap{From: from, To: from.Add(30 * time.Second)})
	}
	if got := recent(all, noon.Add(1000*time.Minute)); len(got) != maxGaps || got[maxGaps-1] != all[999] {
		t.Errorf("%d gaps", len(got))
	}
	old := observed.Gap{From: noon, To: noon.Add(time.Minute)}
	if got := recent([]observed.Gap{old}, noon.Add(reach+2*time.Minute)); len(got) != 0 {
		t.Errorf("gaps %v", got)
	}
	// A question that was asked before the long one has not had its day yet.
	long := observed.Gap{From: noon.Add(time.Hour), To: noon.Add(100 * time.Hour)}
	if got := recent([]observed.Gap{old, long}, noon.Add(101*time.Hour)); len(got) != 2 {
		t.Errorf("gaps %v", got)
	}
}

func TestGapsAreReadAsWritten(t *testing.T) {
	t.Parallel()
	list := []observed.Gap{{From: noon, To: noon.Add(time.Minute)}, {From: noon.Add(time.Hour), To: noon.Add(2 * time.Hour)}}
	if diff := cmp.Diff(list, parseGaps(formatGaps(list))); diff != "" {
		t.Error(diff)
	}
	odd := formatGaps([]observed.Gap{list[1], list[0], {From: noon.Add(30 * time.Second), To: noon.Add(2 * time.Minute)}}) + ",x/y,2026-11-01T12:00:00Z,"
	want := []observed.Gap{{From: noon, To: noon.Add(2 * time.Minute)}, list[1]}
	if diff := cmp.Diff(want, parseGaps(odd)); diff != "" {
		t.Error(diff)
	}
}

// A gap moves the time for an answer for as long as that can last.
func TestGapsOfALongAsk(t *testing.T) {
	t.Parallel()
	asked := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	gap := observed.Gap{From: asked.Add(24 * time.Hour), To: asked.Add(48 * time.Hour)}
	at := func(day int) time.Time {
		o := observed.Time{Gaps: recent([]observed.Gap{gap}, asked.AddDate(0, 0, day))}
		return o.Extend(asked, asked.AddDate(0, 0, 30))
	}
	if early, late := at(3), at(30); !early.Equal(late) {
		t.Errorf("%s, later %s", early, late)
	}
}
