// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
	"motorcortex.dev/motorcortex/internal/toolserver"
)

// crash is a kill of the tool server at one point of a call, and what is known of the call afterwards.
type crash struct {
	// at is where the call stops; "" is in the middle of its command.
	at      toolserver.FaultPoint
	command string
	// phase is what the ledger knows, and effects how often the call had its effect.
	phase   toolapi.CallPhase
	effects int
	// code is the code of the call's result when it is made again, and after the number of its effects by then.
	code  string
	after int
}

const effect = "echo run >> effects; "

func crashes() map[string]crash {
	const unknown = toolapi.CodeOutcomeUnknown
	return map[string]crash{
		"before the start":  {toolserver.FaultBeforeStart, effect + "echo done", toolapi.CallAbsent, 0, "", 1},
		"after the start":   {toolserver.FaultAfterStart, effect + "echo done", toolapi.CallUnknown, 0, unknown, 0},
		"in the middle":     {"", effect + "touch ../tmp/halted; sleep 100", toolapi.CallUnknown, 1, unknown, 1},
		"before the result": {toolserver.FaultBeforeFinish, effect + "echo done", toolapi.CallUnknown, 1, unknown, 1},
		"before the answer": {toolserver.FaultAfterFinish, effect + "echo done", toolapi.CallFinished, 1, "", 1},
	}
}

// crashed is a Pod whose tool server was killed while the client waited for its call.
type crashed struct {
	*pod
	crash
	call   toolapi.Call
	client *toolclient.Client
	answer chan error
	result toolapi.Result
}

func (c crash) happen(t *testing.T, unreachable time.Duration) *crashed {
	t.Helper()
	p := newPod(t, "TEST_HALT="+string(c.at))
	p.cert.Unreachable = unreachable
	now := &crashed{pod: p, crash: c, client: p.client(), answer: make(chan error, 1)}
	now.call = call(t, toolapi.ToolBash, toolapi.BashArgs{Command: c.command})
	now.call.ID = "halted-" + now.call.ID
	ctx := testContext(t)
	go func() {
		var err error
		now.result, err = now.client.Call(ctx, now.call)
		now.answer <- err
	}()
	p.await("tmp/halted")
	p.kill()
	return now
}

// restart starts the tool server again, without a fault.
func (c *crashed) restart() {
	c.t.Helper()
	c.env[0] = "TEST_HALT=none"
	c.start()
}

func (c *crashed) wantEffects(when string, want int) {
	c.t.Helper()
	content, err := os.ReadFile(c.dir + "/workspace/effects")
	if err != nil && !os.IsNotExist(err) {
		c.t.Fatal(err)
	}
	if got := strings.Count(string(content), "run\n"); got != want {
		c.t.Errorf("%s: %d effects, want %d", when, got, want)
	}
}

func (c *crashed) wantResult(r toolapi.Result) {
	c.t.Helper()
	if r.ErrorCode != c.code || c.code == "" && r.Output != "done\n" {
		c.t.Errorf("%+v, want the code %q", r, c.code)
	}
}

// The client gives up while the server is away, and the next client finds out the outcome of the call.
func TestKilledAtEveryPoint(t *testing.T) {
	for name, c := range crashes() {
		t.Run(name, func(t *testing.T) {
			now := c.happen(t, 3*time.Second)
			if err := <-now.answer; !errors.Is(err, toolclient.ErrUnreachable) {
				t.Fatalf("the waiting client got %v", err)
			}
			now.wantEffects("after the kill", c.effects)
			now.restart()
			state, err := now.client.State(testContext(t), now.call.ID)
			if err != nil || state.Phase != c.phase {
				t.Fatalf("%+v %v, want %s", state, err, c.phase)
			}
			for range 2 {
				r, err := now.client.Call(testContext(t), now.call)
				if err != nil {
					t.Fatal(err)
				}
				now.wantResult(r)
			}
			now.wantEffects("asked again", c.after)
			if c.phase != toolapi.CallUnknown {
				return
			}
			// A person has decided to have it done once more: that is a call of its own.
			again := now.call
			again.ID += "-r1"
			again.Arguments = []byte(`{"command":"` + effect + `echo done"}`)
			if r, err := now.client.Call(testContext(t), again); err != nil || r.Output != "done\n" {
				t.Errorf("%+v %v", r, err)
			}
			now.wantEffects("done once more", c.after+1)
		})
	}
}

// The client keeps trying while the server is away, and gets the result without another request of its caller.
func TestKilledWhileTheClientWaits(t *testing.T) {
	for name, c := range crashes() {
		t.Run(name, func(t *testing.T) {
			now := c.happen(t, 2*time.Minute)
			key := now.client.ServerKey()
			now.restart()
			if err := <-now.answer; err != nil {
				t.Fatal(err)
			}
			now.wantResult(now.result)
			now.wantEffects("after the answer", c.after)
			if _, err := now.client.Hello(testContext(t)); err != nil || now.client.ServerKey() != key {
				t.Errorf("the key is %s and was %s: %v", now.client.ServerKey(), key, err)
			}
		})
	}
}

// A record that the killed server was writing is there whole or not at all, and no part of it is left.
func TestKilledAnywhere(t *testing.T) {
	p := newPod(t)
	version := func(n int) string { return strings.Repeat(fmt.Sprintf("%07d\n", n), 8<<10) }
	written := 0
	for n := 1; n <= 30; n++ {
		effect := call(t, toolapi.ToolBash, toolapi.BashArgs{Command: fmt.Sprintf("echo %d >> effects", n)})
		write := call(t, toolapi.ToolWrite, toolapi.WriteArgs{Path: "file", Content: version(n)})
		ctx, giveUp := context.WithCancel(testContext(t))
		ended := make(chan struct{})
		client := p.client()
		if _, err := client.Hello(ctx); err != nil { // The handshake takes longer than a call.
			t.Fatal(err)
		}
		go func() {
			defer close(ended)
			if n%2 == 0 {
				_, _ = client.Call(ctx, effect)
			}
			_, _ = client.Call(ctx, write)
		}()
		<-time.After(rand.N(40 * time.Millisecond)) // Wherever the calls are by then.
		p.kill()
		giveUp()
		<-ended
		p.start()
		p.checkEffect(effect, n)
		p.checkFile(write, n, &written, version)
	}
	if left, err := os.ReadDir(p.dir + "/workspace/.motor/tmp"); err != nil && !os.IsNotExist(err) || len(left) > 0 {
		t.Errorf("parts of files are left: %v %v", left, err)
	}
}

// checkEffect compares the ledger's record of a call with its effect, and makes the call again.
func (p *pod) checkEffect(c toolapi.Call, n int) {
	p.t.Helper()
	count := func() int {
		content, err := os.ReadFile(p.dir + "/workspace/effects")
		if err != nil && !os.IsNotExist(err) {
			p.t.Fatal(err)
		}
		return strings.Count("\n"+string(content), fmt.Sprintf("\n%d\n", n))
	}
	client := p.client()
	state, err := client.State(testContext(p.t), c.ID)
	if err != nil {
		p.t.Fatal(err)
	}
	before := count()
	switch {
	case before > 1, state.Phase == toolapi.CallAbsent && before != 0, state.Phase == toolapi.CallFinished && before != 1,
		state.Phase == toolapi.CallRunning:
		p.t.Errorf("call %d is %s and had its effect %d times", n, state.Phase, before)
	}
	r, err := client.Call(testContext(p.t), c)
	if err != nil || r.OK == (state.Phase == toolapi.CallUnknown) {
		p.t.Errorf("call %d was %s, made again it gives %+v %v", n, state.Phase, r, err)
	}
	want := before
	if state.Phase == toolapi.CallAbsent {
		want = 1
	}
	if after := count(); after != want {
		p.t.Errorf("call %d was %s with %d effects, made again it has had %d", n, state.Phase, before, after)
	}
}

// checkFile fails unless the file is that of the last write or of this one. written is the last that is known to be there.
func (p *pod) checkFile(c toolapi.Call, n int, written *int, version func(int) string) {
	p.t.Helper()
	state, err := p.client().State(testContext(p.t), c.ID)
	if err != nil {
		p.t.Fatal(err)
	}
	content, err := os.ReadFile(p.dir + "/workspace/file")
	if err != nil && !os.IsNotExist(err) {
		p.t.Fatal(err)
	}
	isNew := string(content) == version(n)
	isOld := *written == 0 && len(content) == 0 || *written > 0 && string(content) == version(*written)
	if !isNew && (!isOld || state.Phase == toolapi.CallFinished) || isNew && state.Phase == toolapi.CallAbsent {
		p.t.Errorf("write %d is %s, and the file has %d bytes that begin with %.8q", n, state.Phase, len(content), content)
	}
	if isNew {
		*written = n
	}
}
