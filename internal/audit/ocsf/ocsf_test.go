// SPDX-License-Identifier: Apache-2.0

package ocsf_test

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/audit/ocsf"
	"motorcortex.dev/motorcortex/internal/audit/ocsf/ocsftest"
)

// whole is an event with every field.
func whole(e *ocsf.Event) *ocsf.Event {
	e.Metadata.Product = ocsf.Product{Name: "manager", VendorName: "Motor Cortex", Version: "1"}
	e.Metadata.UID, e.Metadata.CorrelationUID, e.Metadata.LogName = "id", "run", "audit"
	e.Message, e.Status, e.StatusDetail, e.Count, e.Duration = "said", ocsf.Success, "why", 2, new(int64(3))
	e.Unmapped = map[string]any{"run": "r"}
	e.Source = &ocsf.Endpoint{IP: "10.0.0.1", Name: "pod"}
	e.Destination = &ocsf.Endpoint{Hostname: "example.org", Port: 443, Service: "proxy"}
	e.Decided(ocsf.Denied)
	e.FirewallRule = &ocsf.Named{Name: "example.org"}
	return e
}

func TestEventsAreOfTheSchema(t *testing.T) {
	t.Parallel()
	network := whole(ocsf.Network(ocsf.ActivityClose, time.Unix(1, 0)))
	network.Connection, network.Traffic = ocsf.Outbound(), &ocsf.Traffic{Out: 1}
	call := whole(ocsf.Call(ocsf.ActivityUpdate, time.Unix(1, 0)))
	call.Actor, call.API = &ocsf.Actor{User: &ocsf.Named{Name: "ann"}, AppName: "a"}, &ocsf.API{Operation: "approve", Service: ocsf.Named{Name: "s"}}
	call.Resources = []ocsf.Resource{{Type: "MotorRun", Name: "r", Namespace: "n", UID: "u", Data: map[string]any{"a": "b"}}}
	for _, e := range []*ocsf.Event{network, call} {
		var line bytes.Buffer
		if err := ocsf.NewLog(&line).Write(e); err != nil {
			t.Fatal(err)
		}
		if err := ocsftest.Check(line.Bytes()); err != nil || !strings.HasSuffix(line.String(), "}\n") {
			t.Errorf("%s: %v", &line, err)
		}
	}
}

type lines struct {
	writes []string
	err    error
}

func (l *lines) Write(b []byte) (int, error) {
	l.writes = append(l.writes, string(b))
	return len(b), l.err
}

// A line is written at once, so that those of several goroutines do not mix, and text of a model ends no line.
func TestLinesAreWhole(t *testing.T) {
	t.Parallel()
	to := &lines{}
	log := ocsf.NewLog(to)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			e := ocsf.Call(ocsf.ActivityUpdate, time.Unix(1, 0))
			e.Message = "a\nb\x1b[2J"
			if err := log.Write(e); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, l := range to.writes {
		if strings.Count(l, "\n") != 1 || strings.Contains(l, "\x1b") {
			t.Errorf("a write is %q", l)
		}
	}
	if len(to.writes) != 8 {
		t.Errorf("%d writes of 8 events", len(to.writes))
	}
	to.err = errors.New("full")
	if err := log.Write(ocsf.Call(ocsf.ActivityUpdate, time.Unix(1, 0))); !errors.Is(err, to.err) {
		t.Errorf("a line that is lost: %v", err)
	}
}
