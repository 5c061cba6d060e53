// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestOnlyTheProcessOfTheManagersOwnContainerIsKilled(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("a1", 32)
	pod := func(ids ...string) *corev1.Pod {
		p := &corev1.Pod{}
		for _, id := range ids {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{ContainerID: id})
		}
		return p
	}
	if got, err := containerID(pod("containerd://" + id)); got != id || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	// A short text would be in the names of the control groups of others.
	for _, ids := range [][]string{nil, {""}, {"containerd://"}, {"containerd://a1"}, {id}, {"containerd://" + id, "containerd://" + id}} {
		if got, err := containerID(pod(ids...)); err == nil {
			t.Errorf("%q: %q", ids, got)
		}
	}
}
