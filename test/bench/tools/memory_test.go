// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"testing"
	"time"
)

func TestSummaryHasTheToolServerAlone(t *testing.T) {
	t.Parallel()
	var s summary
	if err := json.Unmarshal([]byte(`{"pods":[
		{"podRef":{"uid":"other"},"containers":[{"name":"toolserver","memory":{"time":"2026-11-27T10:00:05Z","workingSetBytes":1,"rssBytes":1}}]},
		{"podRef":{"uid":"mine"},"containers":[
			{"name":"another","memory":{"time":"2026-11-27T10:00:05Z","workingSetBytes":2,"rssBytes":2}},
			{"name":"toolserver","memory":{"time":"2026-11-27T10:00:05Z","workingSetBytes":9,"rssBytes":7}}]},
		{"podRef":{"uid":"new"},"containers":[{"name":"toolserver","memory":{"time":"2026-11-27T10:00:05Z"}}]}]}`), &s); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 27, 10, 0, 5, 0, time.UTC)
	if m, ok := s.of("mine", at.Add(-time.Second)); !ok || m != (memory{9, 7}) {
		t.Errorf("%v, %v", m, ok)
	}
	if _, ok := s.of("mine", at); ok {
		t.Error("a figure from before the sandbox was idle is taken")
	}
	for _, uid := range []string{"new", "none"} {
		if _, ok := s.of(uid, at.Add(-time.Second)); ok {
			t.Errorf("%s has figures", uid)
		}
	}
}
