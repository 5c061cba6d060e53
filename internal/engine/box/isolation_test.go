// SPDX-License-Identifier: Apache-2.0

package box

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

func TestConfirmationTakesTriesAndTime(t *testing.T) {
	t.Parallel()
	type try struct {
		blocked      bool
		began, ended time.Duration
	}
	const ms = time.Millisecond
	for name, tt := range map[string]struct {
		tries []try
		want  bool
	}{
		"three over 100 ms":       {[]try{{true, 0, 5 * ms}, {true, 55 * ms, 60 * ms}, {true, 110 * ms, 115 * ms}}, true},
		"three in less":           {[]try{{true, 0, 5 * ms}, {true, 50 * ms, 55 * ms}, {true, 104 * ms, 200 * ms}}, false},
		"the first one was long":  {[]try{{true, 0, 100 * ms}, {true, 101 * ms, 102 * ms}, {true, 150 * ms, 151 * ms}}, false},
		"two over a long time":    {[]try{{true, 0, 5 * ms}, {true, 500 * ms, 505 * ms}}, false},
		"a fourth makes it long":  {[]try{{true, 0, 1 * ms}, {true, 30 * ms, 31 * ms}, {true, 60 * ms, 61 * ms}, {true, 101 * ms, 102 * ms}}, true},
		"open in between":         {[]try{{true, 0, 5 * ms}, {false, 55 * ms, 60 * ms}, {true, 110 * ms, 115 * ms}, {true, 160 * ms, 165 * ms}}, false},
		"open at last":            {[]try{{true, 0, 5 * ms}, {true, 55 * ms, 60 * ms}, {false, 110 * ms, 115 * ms}}, false},
		"open first, then enough": {[]try{{false, 0, 5 * ms}, {true, 50 * ms, 51 * ms}, {true, 100 * ms, 101 * ms}, {true, 151 * ms, 152 * ms}}, true},
	} {
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		var c confirmation
		got := false
		for _, try := range tt.tries {
			got = c.add(try.blocked, start.Add(try.began), start.Add(try.ended))
		}
		if got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A tool server that is not used counts as proved under the conditions of the proof.
func TestIsProved(t *testing.T) {
	t.Parallel()
	c := &toolapi.Confinement{}
	for name, tt := range map[string]struct {
		p    *toolapi.Probed
		want bool
	}{
		"an older tool server": {nil, false},
		"proved":               {&toolapi.Probed{Tries: 3, OverMs: 100, Confinement: c}, true},
		"a try is missing":     {&toolapi.Probed{Tries: 2, OverMs: 100, Confinement: c}, false},
		"cut off too early":    {&toolapi.Probed{Tries: 3, OverMs: 99, Confinement: c}, false},
		"no report":            {&toolapi.Probed{Tries: 3, OverMs: 100}, false},
		"no program may start": {&toolapi.Probed{Tries: 3, OverMs: 100, Confinement: &toolapi.Confinement{Refused: "no"}}, false},
	} {
		if got := isProved(tt.p); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
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
	p := proof{tries: 3, began: time.Unix(1, 0), confinement: toolapi.Confinement{Families: []string{"IPv4", "IPv9"}, Denied: []string{"IPv6"}, Landlock: true}}
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
