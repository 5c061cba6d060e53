// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"net/http"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/test/fakecluster"
)

func TestAStepIsShownWhole(t *testing.T) {
	t.Parallel()
	run := fakecluster.Run("ns", "run")
	huge := strings.Repeat("\u202e", 32768/3)
	s := fakecluster.Step(run, 1, 1, "bash", `{"command":"ls\nls -l"}`, &v1alpha1.ToolResult{OK: true, Output: "one\r\n" + huge, OutputFile: ".motor/out", Provenance: "Web"})
	r := newRig(t, fakecluster.New(t, run, s))
	var got struct {
		Step struct {
			Whole []struct {
				Parts              []struct{ Name, Text string }
				Output, OutputFile string
				Web                bool
			}
		}
	}
	status, raw := r.asks(http.MethodGet, "/api/runs/ns/run/steps/"+s.Name, "", &got)
	if status != http.StatusOK || len(got.Step.Whole) != 1 {
		t.Fatalf("%d: %s", status, raw)
	}
	c := got.Step.Whole[0]
	if len(c.Parts) != 1 || c.Parts[0].Name != "command" || c.Parts[0].Text != "ls\nls -l" || c.OutputFile != ".motor/out" || !c.Web {
		t.Errorf("%+v", c)
	}
	if want := "one\n" + strings.Repeat(`\u202e`, 32768/3); c.Output != want {
		t.Errorf("the output has %d bytes, want %d: %.40q", len(c.Output), len(want), c.Output)
	}
	r.want(http.StatusNotFound, http.MethodGet, "/api/runs/ns/other/steps/"+s.Name, "", "is no step of this run")
}
