// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// diskTestBytes is the size of the workspace of these tests. Nothing but the tool server bounds it.
const diskTestBytes = "67108864"

func newBoundedPod(t testing.TB, env ...string) *pod {
	return newPod(t, append(env, "MOTOR_WORKSPACE_BYTES="+diskTestBytes, "MOTOR_TMP_BYTES="+diskTestBytes, "MOTOR_STATE_BYTES=268435456")...)
}

func TestNoFileGrowsPastTheWorkspace(t *testing.T) {
	for name, command := range map[string]string{
		"a program":        "head -c 20G /dev/zero > fill",
		"below a pipe":     "set -o pipefail; head -c 20G /dev/zero | cat > fill; exit $?",
		"sparse":           "truncate -s 20G fill",
		"in the temporary": "head -c 20G /dev/zero > $TMPDIR/fill",
	} {
		t.Run(name, func(t *testing.T) {
			p := newBoundedPod(t)
			r := p.bash(command)
			if r.ErrorCode != toolapi.CodeDiskFull || !strings.Contains(r.Output, diskTestBytes) || !strings.Contains(r.Output, "rm") {
				t.Errorf("%+v", r)
			}
		})
	}
}
