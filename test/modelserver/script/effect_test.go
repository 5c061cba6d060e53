// SPDX-License-Identifier: Apache-2.0

package script

import (
	"fmt"
	"strings"
	"testing"
)

func TestEffect(t *testing.T) {
	s := mustParse(t, `turns: [{repeat: 2, toolCalls: [{name: bash, arguments: {command: '{{ .Effect "end" }}; sleep {{ .Value "sleep" "3" }}'}}]}]`)
	again := start("Play as run-1. counter=10.0.0.1:8080 sleep=0.5")
	again[0].Content = "This is attempt 3 at the task."
	for name, tc := range map[string]struct {
		talk []Message
		want []string
	}{
		"first":         {start("Play your part as run-1. counter=10.0.0.1:8080"), []string{"/dev/tcp/10.0.0.1/8080", "id=run-1.a1.t0.end ", "echo run-1.a1.t0.end >> effects", "sleep 3"}},
		"second":        {append(start("Play your part as run-1.\ncounter=10.0.0.1:8080"), assistant("i"), tool("i", "")), []string{"id=run-1.a1.t1.end "}},
		"third attempt": {again, []string{"id=run-1.a3.t0.end ", "sleep 0.5"}},
		"no counter":    {start("Play as run-1."), []string{"error", "the task has no such value: counter"}},
		"no name":       {start("counter=10.0.0.1:8080"), []string{"error", "as whom to play"}},
		"bad counter":   {start("Play as run-1. counter=$(reboot):1"), []string{"error", "is not IP:PORT"}},
	} {
		t.Run(name, func(t *testing.T) {
			play, err := s.Play(tc.talk)
			got := fmt.Sprint("error: ", err)
			if err == nil {
				got = play.ToolCalls[0].Arguments
			}
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q is not in %s", want, got)
				}
			}
		})
	}
}
