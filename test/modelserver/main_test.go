// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func scriptDir(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "play.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRunRefuses(t *testing.T) {
	good := scriptDir(t, "turns: [{content: a}]")
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no scripts":    {nil, "usage:"},
		"stray":         {[]string{"--scripts", good, "x"}, "usage:"},
		"bad flag":      {[]string{"--script", good}, "flag provided but not defined"},
		"empty folder":  {[]string{"--scripts", t.TempDir()}, "no *.yaml file there"},
		"bad script":    {[]string{"--scripts", scriptDir(t, "turn: []")}, "play.yaml:1: turn: there is no such field here"},
		"bad address":   {[]string{"--scripts", good, "--listen", "nowhere"}, "nowhere"},
		"absent folder": {[]string{"--scripts", filepath.Join(good, "x")}, "no *.yaml file there"},
	} {
		t.Run(name, func(t *testing.T) {
			err := run(t.Context(), tc.args, io.Discard)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("err = %v, want %q", err, tc.want)
			}
		})
	}
}

// A stop ends the server although a request hangs in a fault.
func TestRunStops(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	args := []string{"--listen", "127.0.0.1:0", "--scripts", scriptDir(t, "turns: [{fault: {kind: hang}}]")}
	go func() { ended <- run(ctx, args, in) }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	_, address, _ := strings.Cut(strings.TrimSpace(line), "listening on ")

	// Without kept connections none can be open and unused, which a stop would wait for.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	hung := make(chan error, 1)
	go func() {
		res, err := client.Post("http://"+address+"/v1/chat/completions", "application/json", strings.NewReader(hello))
		if err == nil {
			res.Body.Close()
		}
		hung <- err
	}()
	// The request is in the log as soon as it hangs.
	for logged := false; !logged; {
		res, err := client.Get("http://" + address + "/log")
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		logged = strings.Contains(string(text), outcomeWaiting)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("run: %v", err)
	}
	if err := <-hung; err == nil {
		t.Error("the hanging request got an answer")
	}
}
