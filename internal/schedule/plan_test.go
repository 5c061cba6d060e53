// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"strings"
	"testing"
	"time"
)

// at reads an instant.
func at(t testing.TB, s string) time.Time {
	t.Helper()
	when, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

// planOf reads a schedule that is valid.
func planOf(t testing.TB, schedule, zone string) *Plan {
	t.Helper()
	p, err := Parse(schedule, zone)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestParse(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ schedule, zone, want string }{
		"five fields":         {"30 6 * * 1-5", "", ""},
		"names":               {"0 9 * jan-mar mon,wed", "Europe/Berlin", ""},
		"a word":              {"@daily", "UTC", ""},
		"a duration":          {"@every 90s", "", ""},
		"the 30th of Feb":     {"0 0 30 2 *", "", ""},
		"four fields":         {"30 6 * *", "", "spec.schedule"},
		"six fields":          {"0 30 6 * * *", "", "spec.schedule"},
		"no minute 60":        {"60 * * * *", "", "spec.schedule"},
		"nothing":             {"", "", "spec.schedule"},
		"no duration":         {"@every", "", "spec.schedule"},
		"less than a minute":  {"@every 59s", "", "1m0s after each other"},
		"backwards":           {"@every -5m", "", "1m0s after each other"},
		"another word":        {"@reboot", "", "spec.schedule"},
		"a zone before it":    {"TZ=UTC 0 0 * * *", "", "write it into spec.timeZone"},
		"a zone alone":        {"TZ=0", "", "write it into spec.timeZone"},
		"a zone of cron":      {"CRON_TZ=UTC 0 0 * * *", "", "write it into spec.timeZone"},
		"no such zone":        {"@daily", "Europe/Atlantis", `no time zone "Europe/Atlantis"`},
		"the manager's zone":  {"@daily", "Local", "write the name of a zone"},
		"a file":              {"@daily", "../../etc/passwd", "no time zone"},
		"a very long one":     {strings.Repeat("1,", 100) + "1 * * * *", "", "more than 128 bytes"},
		"a range of nothing":  {"0-0/0 * * * *", "", "spec.schedule"},
		"a step that is huge": {"*/4294967296 * * * *", "", ""},
	} {
		_, err := Parse(tt.schedule, tt.zone)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ schedule, zone, after, want string }{
		"in UTC":                        {"30 6 * * *", "", "2026-03-10T06:00:00Z", "2026-03-10T06:30:00Z"},
		"not the same again":            {"30 6 * * *", "", "2026-03-10T06:30:00Z", "2026-03-11T06:30:00Z"},
		"by the clocks of a zone":       {"30 6 * * *", "Europe/Berlin", "2026-03-10T00:00:00Z", "2026-03-10T05:30:00Z"},
		"by them in summer":             {"30 6 * * *", "Europe/Berlin", "2026-07-10T00:00:00Z", "2026-07-10T04:30:00Z"},
		"an hour that is left out":      {"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-30T00:30:00Z"},
		"each hour, when one is":        {"0 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z"},
		"an hour that there is twice":   {"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"},
		"the second time":               {"30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
		"the day after":                 {"30 2 * * *", "Europe/Berlin", "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"},
		"a midnight that does not come": {"0 0 * * *", "America/Santiago", "2026-09-05T12:00:00Z", "2026-09-07T03:00:00Z"},
		"after half an hour twice":      {"0 0 * * *", "Australia/Lord_Howe", "2026-04-05T00:00:00Z", "2026-04-05T13:30:00Z"},
		"after half an hour left out":   {"0 0 * * *", "Australia/Lord_Howe", "2026-10-04T00:00:00Z", "2026-10-04T13:00:00Z"},
		"half an hour that is left out": {"15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", "2026-10-04T15:15:00Z"},
		"a leap day":                    {"0 0 29 2 *", "", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z"},
		"the 30th of February":          {"0 0 30 2 *", "", "2026-01-01T00:00:00Z", ""},
		"a duration":                    {"@every 90s", "", "2026-01-01T00:00:10Z", "2026-01-01T00:01:40Z"},
	} {
		want := time.Time{}
		if tt.want != "" {
			want = at(t, tt.want)
		}
		if got := planOf(t, tt.schedule, tt.zone).Next(at(t, tt.after)); !got.Equal(want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// The last start is found as if all were counted.
func TestLatestIsTheLastOfAllStarts(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"", "Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe"} {
		for _, spec := range []string{"* 0 * * *", "30 6-16/4 * * 1-5", "30 2 * * *", "*/7 * * * *", "0 0 1 * *", "0 0 * * *", "@every 90m", "@weekly", "0 0 30 2 *"} {
			p := planOf(t, spec, zone)
			from := at(t, "2026-03-20T03:04:05Z")
			for hours := 0; hours < 24*14; hours += 5 {
				until := from.Add(time.Duration(hours)*time.Hour + 17*time.Second)
				var want time.Time
				for next := p.Next(from); !next.IsZero() && !next.After(until); next = p.Next(next) {
					want = next
				}
				if got := p.Latest(from, until); !got.Equal(want) {
					t.Fatalf("%q in %q until %s: %s, want %s", spec, zone, until, got, want)
				}
			}
		}
	}
}

// Each day has its midnight, also after the clocks changed by half an hour, and however it is looked for.
func TestEachDayHasItsMidnight(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"Australia/Lord_Howe", "Europe/Berlin", "UTC"} {
		p := planOf(t, "0 0 * * *", zone)
		begin := at(t, "2026-01-01T12:00:00Z")
		days, last := 0, begin
		for next := p.Next(begin); next.Before(begin.AddDate(1, 0, 0)); next = p.Next(next) {
			if local := next.In(p.zone); local.Hour() != 0 || local.Minute() != 0 {
				t.Errorf("%s: %s", zone, local)
			}
			if got := p.Latest(last, next); !got.Equal(next) {
				t.Errorf("%s: the latest start until %s is %s", zone, next, got)
			}
			days, last = days+1, next
		}
		if days != 365 {
			t.Errorf("%s: %d days", zone, days)
		}
	}
}

func TestMissed(t *testing.T) {
	t.Parallel()
	p := planOf(t, "0 * * * *", "")
	from := at(t, "2026-01-01T00:00:00Z")
	for hours, want := range map[int]int{0: 0, 1: 1, 9: 9, 10: 10, 11: 10, 876000: 10} {
		if got := p.Missed(from, from.Add(time.Duration(hours)*time.Hour), 10); got != want {
			t.Errorf("%d h: %d, want %d", hours, got, want)
		}
	}
}

func TestRunName(t *testing.T) {
	t.Parallel()
	start := at(t, "2026-01-01T00:00:00Z")
	if a, b := RunName("report", start), RunName("report", start.In(time.FixedZone("", 3600))); a != b || a != "report-29453760" {
		t.Errorf("%s, %s", a, b)
	}
	if n := len(RunName(strings.Repeat("a", MaxName), at(t, "2099-01-01T00:00:00Z"))); n > 48 {
		t.Errorf("the name of a run has %d characters", n)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("30 6 * * 1-5", "Europe/Berlin")
	f.Add("@every 1m", "")
	f.Add("TZ=0", "Local")
	f.Fuzz(func(t *testing.T, schedule, zone string) {
		p, err := Parse(schedule, zone)
		if err != nil {
			return
		}
		now := at(t, "2026-05-04T03:02:01Z")
		if next := p.Next(now); !next.IsZero() && !next.After(now) {
			t.Errorf("%q: the next start of %s is %s", schedule, now, next)
		}
		if latest := p.Latest(now.AddDate(-3, 0, 0), now); latest.After(now) {
			t.Errorf("%q: the last start until %s is %s", schedule, now, latest)
		}
	})
}
