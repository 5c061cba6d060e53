// SPDX-License-Identifier: Apache-2.0

package box

import (
	"context"
	"fmt"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// helloPatience is how long the first answer of a model waits for the capabilities of the sandbox. A running sandbox reports them
// within milliseconds. A sandbox that is away must not delay the model; a missing capability is then found at the call.
const helloPatience = 2 * time.Second

// Peer returns the capabilities of the sandbox, nil if they are not known yet.
func (s *Box) Peer(ctx context.Context) *toolapi.Peer {
	if p := s.Client.Peer(); p != nil {
		return p
	}
	late := time.NewTimer(helloPatience)
	defer late.Stop()
	select {
	case <-s.greeted:
	case <-late.C:
	case <-ctx.Done():
	}
	return s.Client.Peer()
}

// unserved returns the result of a call that needs a capability that the sandbox lacks, nil if it lacks none. The model saw such
// a tool only if it was asked before the sandbox was known.
func (s *Box) unserved(c toolapi.Call) (*toolapi.Result, error) {
	peer := s.Client.Peer()
	lacks, hasTool := peer.Lacks(c.Tool, c.Arguments), peer.HasTool(c.Tool)
	if hasTool && len(lacks) == 0 {
		return nil, nil
	}
	if toolapi.IsOneshot(c.Tool) || c.Tool == toolapi.ToolInstall {
		// No model can work without it.
		return nil, runenv.Outdated(fmt.Errorf("it lacks %s %s", c.Tool, strings.Join(lacks, ", ")))
	}
	r := toolapi.Result{
		ErrorCode: toolapi.CodeToolNotGranted, Provenance: toolapi.ProvenanceInternal,
		Output: fmt.Sprintf("This sandbox was made by an earlier release and does not have the tool %s. Use another one.", c.Tool),
	}
	if hasTool {
		r.ErrorCode = toolapi.CodeInvalidArguments
		r.Output = fmt.Sprintf("This sandbox was made by an earlier release, in which %s has no argument %s. Nothing was done; call it without.",
			c.Tool, strings.Join(lacks, " and no "))
	}
	r.SetParts("", r.Output)
	return &r, nil
}
