// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"motorcortex.dev/motorcortex/internal/chaos"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
)

// The walls in front of the first address of a node stand, and those in front of its second one do not: nothing is run in the sandbox.
func TestEveryAddressOfTheNodeIsTried(t *testing.T) {
	// A Pod has one address of its node for each family, and this machine one of IPv6 that is certain.
	const second = "::1"
	kubelet, err := net.Listen("tcp", net.JoinHostPort(second, "10250"))
	if err == nil {
		t.Cleanup(func() { _ = kubelet.Close() })
	} else if !errors.Is(err, syscall.EADDRINUSE) { // Then something else listens there, and does as well.
		t.Fatal(err)
	}
	r := newChaosRig(t, chaos.Settings{}, func(r *chaosRig) { r.hostIPs = []string{second} })
	r.waitFor(func() bool {
		a := r.status().Attempts
		return len(a) > 0 && (a[0].Failure != nil || a[0].Iterations > 1)
	})
	f := r.status().Attempts[0].Failure
	if f == nil || f.Reason != outcome.ReasonIsolationUnverified || !strings.Contains(f.Message, "the node's kubelet, address 2") {
		t.Errorf("the attempt failed with %+v", f)
	}
	if _, err := os.Stat(filepath.Join(r.workspace, "effects")); err == nil {
		t.Error("something was run in the sandbox")
	}
}
