// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolclient_test

import (
	"encoding/json"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

func TestBackground(t *testing.T) {
	p := newPod(t)
	c := p.client(nil)
	if all, err := c.Background(testContext(t)); err != nil || len(all) != 0 {
		t.Errorf("%+v %v", all, err)
	}
	args, err := json.Marshal(toolapi.BashArgs{Command: "sleep 1000", Background: true})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := c.Call(testContext(t), toolapi.Call{ID: "a", Tool: toolapi.ToolBash, Arguments: args}); err != nil || !r.OK {
		t.Fatalf("%+v %v", r, err)
	}
	if all, err := c.Background(testContext(t)); err != nil || len(all) != 1 || all[0].State != toolapi.ProgramRunning {
		t.Errorf("%+v %v", all, err)
	}
	all, err := c.EndBackground(testContext(t), toolapi.StoppedSuspended)
	if err != nil || len(all) != 1 || all[0].Call != "a" || all[0].State != toolapi.ProgramStopped || all[0].Reason != toolapi.StoppedSuspended {
		t.Errorf("%+v %v", all, err)
	}
	if _, err := c.EndBackground(testContext(t), ""); err == nil {
		t.Error("no reason was taken for one")
	}
}
