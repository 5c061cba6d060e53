// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// notes are the Events that a recorder received.
type notes struct{ list []string }

func (n *notes) Eventf(about, _ runtime.Object, kind, reason, action, format string, args ...any) {
	pod := about.(*corev1.Pod)
	n.list = append(n.list, fmt.Sprintf("%s/%s %s %s %s: ", pod.Namespace, pod.Name, kind, reason, action)+fmt.Sprintf(format, args...))
}

func TestHeartbeatIsToldOfByEvents(t *testing.T) {
	t.Parallel()
	n := &notes{}
	e := newPodEvents(n, options{namespace: "motorcortex-system", podName: "manager-0", podUID: "1"})
	e.heartbeat(errors.New("leases is forbidden\x1b[2J" + strings.Repeat("é", 2000)))
	e.heartbeat(nil)
	if len(n.list) != 2 {
		t.Fatalf("Events %q", n.list)
	}
	for _, part := range []string{"motorcortex-system/manager-0 Warning " + v1alpha1.EventHeartbeatFailing, "motorcortex-time", "leases is forbidden"} {
		if !strings.Contains(n.list[0], part) {
			t.Errorf("the Event lacks %q: %s", part, n.list[0])
		}
	}
	if _, note, _ := strings.Cut(n.list[0], ": "); len(note) > 1024 || strings.Contains(note, "\x1b") {
		t.Errorf("a note of %d bytes: %q", len(note), note)
	}
	if !strings.Contains(n.list[1], "Normal "+v1alpha1.EventHeartbeatWritten) {
		t.Errorf("the second Event is %s", n.list[1])
	}
}
