// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"
)

const head = `File: motorloop.test
Type: cpu
Duration: 18.79s, Total samples = 60ms (56.37%)
`

const traces = head + `-----------+-------------------------------------------------------
      30ms   runtime.memmove
             encoding/json.Marshal (inline)
             example.org/motorloop.(*Loop).Run
             testing.(*B).runN
-----------+-------------------------------------------------------
      20ms   example.org/x/turn.Of[go.shape.struct { example.org/y.Z }]
             example.org/motorloop.(*Loop).Run
             testing.(*B).runN
-----------+-------------------------------------------------------
        1s   runtime.bgscavenge
-----------+-------------------------------------------------------
`

func TestReadTraces(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		in, under string
		took      time.Duration
		path      []string
		at        time.Duration
		fails     string
	}{
		"all of it":       {in: traces, took: 1050 * time.Millisecond, path: []string{"testing.(*B).runN", "motorloop.(*Loop).Run"}, at: 50 * time.Millisecond},
		"a part of it":    {in: traces, under: "motorloop.(*Loop).Run", took: 50 * time.Millisecond, path: []string{"motorloop.(*Loop).Run", "json.Marshal", "runtime.memmove"}, at: 30 * time.Millisecond},
		"a generic one":   {in: traces, took: 1050 * time.Millisecond, path: []string{"testing.(*B).runN", "motorloop.(*Loop).Run", "turn.Of[go.shape.struct { example.org/y.Z }]"}, at: 20 * time.Millisecond},
		"not there":       {in: traces, under: "none", fails: "there are no samples"},
		"no profile":      {in: "nothing\n", fails: "there are no samples"},
		"no samples":      {in: head + "-----------+---\n", fails: "there are no samples"},
		"another measure": {in: head + "-----------+---\n     512kB   a.b\n", fails: "a sample must begin with its time"},
		"a long line":     {in: strings.Repeat("x", 1<<20), fails: "read the stacks"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := readTraces(strings.NewReader(tt.in), tt.under)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil || b.took != tt.took {
				t.Fatalf("%+v, %v", b, err)
			}
			for _, name := range tt.path {
				if b = b.calls[name]; b == nil {
					t.Fatalf("there is no %s", name)
				}
			}
			if b.took != tt.at {
				t.Errorf("%s took %s", b.name, b.took)
			}
		})
	}
}

// A stack is as deep as a recursion goes, and the picture is not.
func TestADeepStackIsCut(t *testing.T) {
	t.Parallel()
	b, err := readTraces(strings.NewReader("-----------+---\n 10ms   a.a\n"+strings.Repeat("             a.b\n", 10*maxDepth)), "")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for ; len(b.calls) > 0; rows++ {
		b = b.sorted()[0]
	}
	if rows != maxDepth {
		t.Errorf("%d rows", rows)
	}
}

func TestShort(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"encoding/json.Marshal (inline)":                "json.Marshal",
		"  runtime.memmove":                             "runtime.memmove",
		"example.org/a/b.(*T).M":                        "b.(*T).M",
		"example.org/a/b.F[go.shape.*example.org/c.T]":  "b.F[go.shape.*example.org/c.T]",
		"example.org/a/b.(*T[example.org/c.U]).M.func1": "b.(*T[example.org/c.U]).M.func1",
		"crypto/internal/fips140/sha256.blockSHANI":     "sha256.blockSHANI",
		"main": "main",
	} {
		if got := short(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
