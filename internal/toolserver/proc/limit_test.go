// SPDX-License-Identifier: Apache-2.0

//go:build linux

package proc

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func TestMapsUsers(t *testing.T) {
	for content, want := range map[string]bool{
		"         0          0 4294967295\n":                 false,
		"         0      65536      65536\n":                 true,
		"         0    1000000       1000\n      1000 0 1\n": true,
		"": false,
	} {
		if got := mapsUsers(content); got != want {
			t.Errorf("%q: %v, want %v", content, got, want)
		}
	}
	for content, want := range map[string]bool{"max\n": false, "1024\n": true, "": false, "-1": false} {
		if got := isNumber(content); got != want {
			t.Errorf("pids.max %q: %v, want %v", content, got, want)
		}
	}
}

// The limit is there where the users are no users of the node, and nowhere else.
func TestProcessesAreLimitedInAUserNamespace(t *testing.T) {
	if os.Getenv("TEST_LIMIT") != "" {
		if err := modest(0); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("bash", "-c", "ulimit -u").Output()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("limit %s", out)
		return
	}
	limitIn := func(attr *syscall.SysProcAttr) string {
		cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), "TEST_LIMIT=1")
		cmd.SysProcAttr = attr
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		_, rest, _ := strings.Cut(string(out), "limit ")
		limit, _, _ := strings.Cut(rest, "\n")
		return limit
	}
	own := []syscall.SysProcIDMap{{ContainerID: 65532, HostID: 61235, Size: 1}}
	if got := limitIn(&syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER, UidMappings: own, GidMappings: own,
		Credential: &syscall.Credential{Uid: 65532, Gid: 65532, NoSetGroups: true},
	}); got != fmt.Sprint(maxProcesses) {
		t.Errorf("in a user namespace: %s, want %d", got, maxProcesses)
	}
	if got := limitIn(nil); got == fmt.Sprint(maxProcesses) {
		t.Errorf("among the users of the node there is a limit for all sandboxes together: %s", got)
	}
}
