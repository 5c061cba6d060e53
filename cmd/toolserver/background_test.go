// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

var runsInBackground = regexp.MustCompile(`^\[process (\d+) runs in the background; `)

// background starts a command that outlives its call, and returns its process number.
func (p *pod) background(command string) string {
	p.t.Helper()
	r := p.run(toolapi.ToolBash, toolapi.BashArgs{Command: command, Background: true})
	m := runsInBackground.FindStringSubmatch(r.Output)
	if m == nil {
		p.t.Fatalf("%+v", r)
	}
	return m[1]
}

// As process 1, the server can stop everything at once. A program in the background survives the clean-up after a call whose processes cannot be
// caught otherwise, and a later command can end it.
func TestForksDoNotCostTheBackgroundItsLife(t *testing.T) {
	p := newPod(t)
	pid := p.background("echo $$ > main; while true; do echo tick >> ticks; sleep 0.01; done")
	p.await("workspace/ticks")
	for name, command := range map[string]string{
		"chain": `cat > chain.py <<'END'
import os
while True:
    os.setsid() if os.getpid() != os.getsid(0) else None
    if os.fork(): os._exit(0)
    os.close(os.open("chained", os.O_CREAT))
END
python3 chain.py & until [ -e chained ]; do sleep 0.01; done; echo started; sleep 0.2`,
		"bomb": `ulimit -u 250; echo started; bomb() { bomb | bomb & }; bomb 2>/dev/null; wait; sleep 100`,
	} {
		t.Run(name, func(t *testing.T) {
			r := p.run(toolapi.ToolBash, toolapi.BashArgs{Command: command, TimeoutSeconds: 5})
			if !strings.HasPrefix(r.Output, "started\n") || strings.Contains(r.Output, "could not be killed") {
				t.Errorf("%+v", r)
			}
			if strings.Contains(r.Output, "[background: ") {
				t.Errorf("the job has not changed: %+v", r)
			}
			if r := p.bash("kill -0 " + pid); !r.OK {
				t.Errorf("the job is gone: %+v", r)
			}
			if r := p.bash(`cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' '\n' | grep -c "[c]hain.py\|[b]omb"`); !strings.HasPrefix(r.Output, "0\n") {
				t.Errorf("processes are left: %+v", r)
			}
		})
	}
	ticks := func() int {
		content, err := os.ReadFile(p.dir + "/workspace/ticks")
		if err != nil {
			t.Fatal(err)
		}
		return len(content)
	}
	p.until("the job goes on", func() bool { before := ticks(); return p.bash("sleep 0.05").OK && ticks() > before })
	if r := p.bash("kill " + pid); !r.OK {
		t.Errorf("%+v", r)
	}
	p.until("the job is gone", func() bool {
		return strings.HasPrefix(p.bash("set -- /proc/[0-9]*; echo $#").Output, "3\n")
	})
}

// A job that breaks out of its supervisor, or ends it, is not spared.
func TestHostileBackground(t *testing.T) {
	for name, command := range map[string]string{
		"kills its supervisor":       `setsid sleep 1000 & kill -9 $PPID; sleep 1000`,
		"stops its supervisor":       `kill -STOP $PPID; sleep 1000`,
		"signals everything":         `trap '' TERM HUP INT QUIT; kill -TERM -1; sleep 1000`,
		"continues what was stopped": `while true; do kill -CONT -1; done`,
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			p.run(toolapi.ToolBash, toolapi.BashArgs{Command: command, Background: true, TimeoutSeconds: 2})
			r := p.run(toolapi.ToolBash, toolapi.BashArgs{Command: `bomb() { bomb | bomb & }; ulimit -u 200; bomb 2>/dev/null; sleep 1`, TimeoutSeconds: 1})
			if strings.Contains(r.Output, "could not be killed") {
				t.Errorf("%+v", r)
			}
			p.until("everything is gone", func() bool { return strings.HasPrefix(p.bash("set -- /proc/[0-9]*; echo $#").Output, "3\n") })
		})
	}
}

// A memory bomb ends at its limit, and a disk that is full of a job's output is reported.
func TestBackgroundOnAFullDisk(t *testing.T) {
	p := newPod(t, "TEST_WORKSPACE_SIZE=1m")
	pid := p.background("yes 0123456789")
	p.until("the disk is full", func() bool { return !p.bash("echo x > more").OK })
	if r := p.bash("kill " + pid); r.ErrorCode == toolapi.CodeInternal {
		t.Errorf("%+v", r)
	}
	p.until("the job is gone", func() bool { return strings.HasPrefix(p.bash("set -- /proc/[0-9]*; echo $#").Output, "3\n") })
	if r := p.bash("rm -rf .motor; echo well"); !strings.HasPrefix(r.Output, "well\n") {
		t.Errorf("%+v", r)
	}
}

func TestMemoryBomb(t *testing.T) {
	p := newPod(t)
	for tool, args := range map[string]any{
		toolapi.ToolBash: toolapi.BashArgs{Command: `ulimit -v 300000; x=x; while true; do x=$x$x; done`, TimeoutSeconds: 20},
		toolapi.ToolCode: toolapi.CodeArgs{
			Language: toolapi.LanguagePython, TimeoutSeconds: 20,
			Source: "import resource\nresource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20))\nx = []\nwhile True: x.append(bytearray(1 << 20))",
		},
	} {
		r := p.run(tool, args)
		if r.OK || r.Output == "" {
			t.Errorf("%s: %+v", tool, r)
		}
		if r := p.bash("echo well"); r.Output != "well\n" {
			t.Errorf("after %s: %+v", tool, r)
		}
	}
}

// until returns when the condition holds. Each try makes a call, which takes its time.
func (p *pod) until(what string, condition func() bool) {
	p.t.Helper()
	for range 1000 {
		if condition() {
			return
		}
	}
	p.t.Fatalf("%s: not after 1000 tries", what)
}
