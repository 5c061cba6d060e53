// SPDX-License-Identifier: Apache-2.0

package ocsf_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/audit/ocsf"
	"motorcortex.dev/motorcortex/internal/audit/ocsf/ocsftest"
)

// lineOf returns the line of a decision about a call, whose texts are these, and what it has.
func lineOf(t *testing.T, user, reason string, domains []string) (line string, fields map[string]any) {
	t.Helper()
	e := whole(ocsf.Call(ocsf.ActivityUpdate, time.Unix(1, 0)))
	e.FirewallRule, e.Connection, e.Traffic, e.Duration, e.Destination = nil, nil, nil, nil, nil
	e.Actor, e.API = &ocsf.Actor{User: &ocsf.Named{Name: user}}, &ocsf.API{Operation: "approve", Service: ocsf.Named{Name: "s"}}
	e.Resources = []ocsf.Resource{
		{Type: "MotorRun", Name: strings.Repeat("r", 253), Namespace: strings.Repeat("n", 63), UID: "u"},
		{Type: "ToolCall", Name: "bash", UID: reason, Data: map[string]any{
			"digest": "sha256:" + strings.Repeat("0", 64), "reason": reason, "domains": domains, "attempt": 7, "rule": reason, "ask": reason,
		}},
	}
	var to bytes.Buffer
	if err := ocsf.NewLog(&to).Write(e); err != nil {
		t.Fatal(err)
	}
	if err := ocsftest.Check(to.Bytes()); err != nil {
		t.Errorf("%v: %.300s", err, &to)
	}
	line = strings.TrimSuffix(to.String(), "\n")
	if err := json.Unmarshal([]byte(line), &fields); err != nil {
		t.Error(err)
	}
	return line, fields
}

// A container runtime divides lines of 16 KiB.
func TestALineHasABound(t *testing.T) {
	t.Parallel()
	domains := make([]string, 0, 256)
	for i := range 256 {
		domains = append(domains, fmt.Sprintf("%d-%s.example.org", i, strings.Repeat("d", 200)))
	}
	for name, reason := range map[string]string{
		"letters": strings.Repeat("a", 8192), "control characters": strings.Repeat("\x01", 8192), "quotes": strings.Repeat(`"`, 8192),
		"separators": strings.Repeat("\u2028", 8192), "broken text": strings.Repeat("\xff", 8192), "emoji": strings.Repeat("🧠", 8192),
	} {
		line, fields := lineOf(t, "ann", reason, domains)
		if len(line) > ocsf.MaxLine || len(line) < 512 {
			t.Errorf("%s: the line has %d bytes", name, len(line))
		}
		call := fields["resources"].([]any)[1].(map[string]any)["data"].(map[string]any)
		kept, _ := call["domains"].([]any)
		left, _ := call["domainsOmitted"].(float64)
		if len(kept) == 0 || len(kept)+int(left) != 256 || kept[0] != domains[0] {
			t.Errorf("%s: %d domains, and %v are left out", name, len(kept), call["domainsOmitted"])
		}
		if call["attempt"] != 7.0 || call["digest"] != "sha256:"+strings.Repeat("0", 64) || !strings.Contains(call["reason"].(string), "… (sha256:") {
			t.Errorf("%s: the call is %v", name, call)
		}
	}
}

// A line that is not too long has everything, and < as one byte.
func TestALineWithinTheBoundIsWhole(t *testing.T) {
	t.Parallel()
	reason := strings.Repeat("<&>", 512)
	line, _ := lineOf(t, "ann", reason, []string{"a.example.org"})
	if strings.Count(line, reason) != 4 || strings.Contains(line, `\u003c`) || strings.Contains(line, "Omitted") {
		t.Errorf("the line is %s", line)
	}
}

// Whose decision it was is told by a part of a very long name, too.
func TestLongNamesOfUsersStayOthers(t *testing.T) {
	t.Parallel()
	name := func(last string) any {
		_, fields := lineOf(t, strings.Repeat("u", 20000)+last, "", nil)
		return fields["actor"].(map[string]any)["user"].(map[string]any)["name"]
	}
	if a, b := name("a"), name("b"); a == b || a != name("a") {
		t.Errorf("the users are %v and %v", a, b)
	}
}
