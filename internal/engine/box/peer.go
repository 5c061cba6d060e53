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

// helloPatience is how long the first answer of a model waits to learn what the sandbox has. A sandbox that is there says so
// within milliseconds. One that is away must not keep the model from thinking; what it lacks is then found at the call.
const helloPatience = 2 * time.Second

// Peer returns what the sandbox has, nil if that is not known yet.
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

// unserved is the result of a call that asks for what the sandbox does not have, nil if it has it all. The model was told of
// that only if it was asked before the sandbox was known.
func (s *Box) unserved(c toolapi.Call) (*toolapi.Result, error) {
	peer := s.Client.Peer()
	lacks, hasTool := peer.Lacks(c.Tool, c.Arguments), peer.HasTool(c.Tool)
	if hasTool && len(lacks) == 0 {
		return nil, nil
	}
	if toolapi.IsOneshot(c.Tool) || c.Tool == toolapi.ToolInstall {
		// No model can do without.
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
