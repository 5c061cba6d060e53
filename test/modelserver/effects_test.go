// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/test/modelserver/script"
)

// effectList returns what a checker outside would read.
func (r *rig) effectList(t *testing.T, query string) effectList {
	t.Helper()
	var list effectList
	if err := json.Unmarshal([]byte(r.send(t, http.MethodGet, "/effects"+query, "").body), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestEffects(t *testing.T) {
	r := newRig(t, "turns: [{fault: {kind: hang}}]")
	r.key = "not needed here"
	for i, id := range []string{"a.1", "b.1", "a.1"} {
		res := r.send(t, http.MethodPost, "/effects?id="+id, "")
		if want := []string{"1\n", "1\n", "2\n"}[i]; res.status != http.StatusOK || res.body != want {
			t.Errorf("status %d, %q, want %q", res.status, res.body, want)
		}
	}
	want := effectList{Total: 3, Counts: map[string]int{"a.1": 2, "b.1": 1}, Order: []effect{{1, "a.1", epoch}, {2, "b.1", epoch}, {3, "a.1", epoch}}}
	if diff := cmp.Diff(want, r.effectList(t, "")); diff != "" {
		t.Errorf("all (-want +got):\n%s", diff)
	}
	want = effectList{Total: 1, Counts: map[string]int{"b.1": 1}, Order: []effect{{2, "b.1", epoch}}}
	if diff := cmp.Diff(want, r.effectList(t, "?prefix=b.")); diff != "" {
		t.Errorf("of b (-want +got):\n%s", diff)
	}
	for _, id := range []string{"", "a%20b", strings.Repeat("x", 129)} {
		if res := r.send(t, http.MethodPost, "/effects?id="+id, ""); res.status != http.StatusBadRequest {
			t.Errorf("id %q: status %d", id, res.status)
		}
	}
	r.send(t, http.MethodPost, "/reset", "")
	if list := r.effectList(t, ""); list.Total != 0 || list.Order == nil {
		t.Errorf("after reset: %+v", list)
	}
}

func TestEffectsAreBounded(t *testing.T) {
	r := newRig(t, "turns: [{content: a}]")
	r.effects.size = 1
	r.send(t, http.MethodPost, "/effects?id=a", "")
	if res := r.send(t, http.MethodPost, "/effects?id=a", ""); res.status != http.StatusInsufficientStorage {
		t.Errorf("status %d", res.status)
	}
	if list := r.effectList(t, ""); list.Total != 1 {
		t.Errorf("%+v", list)
	}
}

func TestEffectsOfManyAtOnce(t *testing.T) {
	r := newRig(t, "turns: [{content: a}]")
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() { r.send(t, http.MethodPost, fmt.Sprintf("/effects?id=%d", i%2), "") })
	}
	all.Wait()
	if diff := cmp.Diff(map[string]int{"0": 10, "1": 10}, r.effectList(t, "").Counts); diff != "" {
		t.Error(diff)
	}
}

// The command of a script works in a shell that has nothing but itself.
func TestEffectOfAScript(t *testing.T) {
	r := newRig(t, `turns: [{toolCalls: [{name: bash, arguments: {command: '{{ .Effect }}; echo done'}}]}]`)
	play := func(counter string) (string, error) {
		t.Helper()
		played, err := r.scripts["play"].Play([]script.Message{{Role: script.RoleUser, Content: "Play as run-1. counter=" + counter}})
		if err != nil {
			t.Fatal(err)
		}
		var args struct{ Command string }
		if err := json.Unmarshal([]byte(played.ToolCalls[0].Arguments), &args); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "bash", "-c", args.Command)
		cmd.Dir, cmd.Env = t.TempDir(), []string{"PATH=/nowhere"}
		out, err := cmd.Output()
		file, _ := os.ReadFile(cmd.Dir + "/effects")
		return string(out) + string(file), err
	}
	if out, err := play(strings.TrimPrefix(r.http.URL, "http://")); err != nil || out != "done\nrun-1.a1.t0\n" {
		t.Errorf("%q %v", out, err)
	}
	if diff := cmp.Diff(map[string]int{"run-1.a1.t0": 1}, r.effectList(t, "").Counts); diff != "" {
		t.Error(diff)
	}
	// A counter that cannot be reached is an error of the call, and leaves no line behind.
	if out, err := play("127.0.0.1:1"); err == nil || out != "the counter does not answer\n" {
		t.Errorf("%q %v", out, err)
	}
}
