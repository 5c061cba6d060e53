// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

func TestToolsCannotReachTheServer(t *testing.T) {
	p := newPod(t)
	r := p.bash("id -u; grep CapEff /proc/self/status; cat /proc/self/oom_score_adj; set -- /proc/[0-9]*; echo $#")
	if r.Output != fmt.Sprintf("%d\nCapEff:\t0000000000000000\n1000\n3\n", userID) {
		t.Fatalf("not the container that is meant: %+v", r)
	}
	for name, command := range map[string]string{
		"environment": "cat /proc/1/environ",
		"memory":      "head -c 1 /proc/1/mem",
		"open files":  "ls -l /proc/1/fd",
		"key":         "cat " + p.dir + "/motor/server.key",
		"ledger":      "echo x >> " + p.dir + "/motor/ledger",
		"stop it":     "kill -TERM 1",
		"kill it":     "kill -KILL 1 && kill -0 1",
		"its threads": "for t in /proc/1/task/*; do kill -TERM ${t##*/} && exit; done; exit 1",
	} {
		if r := p.bash(command); r.OK {
			t.Errorf("%s: %q succeeded", name, command)
		}
	}
}

// Neither a chain of processes, each of which lives for a moment only, nor a bomb outlives its call, and the server
// answers while they rage.
func TestForksDoNotOutliveTheCall(t *testing.T) {
	p := newPod(t)
	for name, command := range map[string]string{
		"chain": `cat > chain.py <<'END'
import os
os.setsid()
while True:
    if os.fork(): os._exit(0)
    os.close(os.open("chained", os.O_CREAT))
END
python3 chain.py & until [ -e chained ]; do sleep 0.01; done; echo started; sleep 1`,
		"bomb": `ulimit -u 250; echo started; bomb() { bomb | bomb & }; bomb 2>/dev/null; wait; sleep 100`,
	} {
		t.Run(name, func(t *testing.T) {
			request := call(t, toolapi.ToolBash, toolapi.BashArgs{Command: command, TimeoutSeconds: 5})
			result := make(chan toolapi.Result, 1)
			go func() {
				r, err := p.client().Call(testContext(t), request)
				if err != nil {
					t.Error(err)
				}
				result <- r
			}()
			asked := 0
			for {
				state, err := p.client().State(testContext(t), request.ID)
				if err != nil {
					t.Fatal(err)
				}
				asked++
				if state.Phase == toolapi.CallFinished {
					break
				}
			}
			if r := <-result; !strings.HasPrefix(r.Output, "started\n") || strings.Contains(r.Output, "could not be killed") || asked < 2 {
				t.Errorf("asked %d times: %+v", asked, r)
			}
			if r := p.bash("set -- /proc/[0-9]*; echo $#"); r.Output != "3\n" {
				t.Errorf("beside the server, its launcher and the new call, processes are left: %+v", r)
			}
		})
	}
}

// When no process and no thread can be created any more, the server reports that and goes on.
func TestNoProcessesLeft(t *testing.T) {
	p := newPod(t, "TEST_PROCESSES=150")
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.cmd.Process.Pid))
	if err != nil || len(tasks) < 32 {
		t.Errorf("the server has %d threads, which leaves none to spare: %v", len(tasks), err)
	}
	end := p.crowd(200)
	if r := p.bash("true"); r.ErrorCode != toolapi.CodeInternal || !r.Retryable || !strings.Contains(r.Output, "process") {
		t.Errorf("%+v", r)
	}
	var all sync.WaitGroup
	for range 8 {
		request := call(t, toolapi.ToolList, toolapi.ListArgs{Recursive: true})
		all.Go(func() {
			if r, err := p.client().Call(testContext(t), request); err != nil || !r.OK {
				t.Errorf("%+v %v", r, err)
			}
		})
	}
	all.Wait()
	end()
	for deadline := time.Now().Add(2 * time.Minute); ; { // They count until init has collected them.
		r := p.bash("true")
		if r.OK {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("with processes again: %+v", r)
		}
	}
}

// crowd starts processes of the Pod's user beside the Pod, and returns what ends them.
func (p *pod) crowd(n int) func() {
	p.t.Helper()
	cmd := exec.Command("/bin/bash", "-c", fmt.Sprintf("for i in {1..%d}; do sleep 1000 & done; echo up; wait", n))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: &syscall.Credential{Uid: userID, Gid: userID}}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		_, err = bufio.NewReader(out).ReadString('\n')
	}
	if err != nil {
		p.t.Fatal(err)
	}
	end := sync.OnceFunc(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_, _ = io.Copy(io.Discard, out) // Ends when the last of them is gone.
		_ = cmd.Wait()
	})
	p.t.Cleanup(end)
	return end
}

func TestFullDisk(t *testing.T) {
	p := newPod(t, "TEST_WORKSPACE_SIZE=1m")
	if r := p.bash("head -c 10m /dev/zero > fill"); r.OK {
		t.Fatalf("the disk is not full: %+v", r)
	}
	full := map[string]toolapi.Result{
		"write":  p.run(toolapi.ToolWrite, toolapi.WriteArgs{Path: "x", Content: strings.Repeat("x", 10000)}),
		"append": p.run(toolapi.ToolWrite, toolapi.WriteArgs{Path: "x", Content: strings.Repeat("x", 10000), Append: true}),
		"code":   p.run(toolapi.ToolCode, toolapi.CodeArgs{Language: toolapi.LanguagePython, Source: "print(1)#" + strings.Repeat("x", 10000)}),
	}
	for name, r := range full {
		if r.ErrorCode != toolapi.CodeDiskFull || !strings.Contains(r.Output, "full") {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := p.bash("seq 100000"); !r.OK || r.OutputFile != "" || !strings.Contains(r.Output, "the workspace is full") {
		t.Errorf("long output: %+v", r)
	}
	_, err := p.client().PutFile(testContext(t), "y", make([]byte, 10000))
	if _, ok := errors.AsType[*toolclient.RemoteError](err); !ok {
		t.Errorf("input file: %v", err)
	}
	if r := p.bash("rm fill; ls -A | tr '\n' ' '; cat x | wc -c"); r.Output != ".motor x 0\n" {
		t.Errorf("parts of files are left: %+v", r)
	}
	if r := p.run(toolapi.ToolWrite, toolapi.WriteArgs{Path: "x", Content: "x"}); !r.OK {
		t.Errorf("with room again: %+v", r)
	}
}

func TestTermination(t *testing.T) {
	p := newPod(t)
	answer := make(chan toolapi.Result, 1)
	go func() {
		r, _ := p.client().Call(testContext(t), call(t, toolapi.ToolBash, toolapi.BashArgs{Command: "touch begun; trap '' TERM; sleep 100; sleep 100"}))
		answer <- r
	}()
	p.await("workspace/begun")
	began := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); p.cmd.ProcessState.ExitCode() != exitTerminated {
		t.Errorf("the tool server ended with %v, want status %d", err, exitTerminated)
	}
	if took := time.Since(began); took > 20*time.Second { // The kubelet waits for 30 s, and the command would go on for longer.
		t.Errorf("the end took %s", took)
	}
	if r := <-answer; r.ErrorCode != toolapi.CodeOutcomeUnknown {
		t.Errorf("the waiting client got %+v, and none can tell how far the command came", r)
	}
}

func (p *pod) await(file string) {
	p.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(2 * time.Minute); ; <-tick.C {
		if _, err := os.Stat(p.dir + "/" + file); err == nil {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("the file %s is not there after 2 minutes", file)
		}
	}
}
