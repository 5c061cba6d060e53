// SPDX-License-Identifier: Apache-2.0

package box

import (
	"context"
	"fmt"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/proof"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// halt ends everything in the sandbox, and returns when only the manager's and the proxy's connections remain. A sandbox that
// retains another one is abandoned: the connection ends with its Pod.
func (s *Box) halt(ctx context.Context) error {
	for start := s.Env.Now(); ; {
		resp, err := s.Client.Halt(ctx)
		switch {
		case err != nil:
			return s.Env.Classify(ctx, err)
		case resp.All == 0:
			return nil
		case s.Env.Now().Sub(start) > s.config.IsolationTimeout:
			return stillConnected(resp)
		}
		select {
		case <-time.After(proof.Pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func stillConnected(resp toolapi.HaltResponse) error {
	var names []string
	for _, c := range resp.Connections[:min(len(resp.Connections), maxOpen)] {
		names = append(names, strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Network, c.Remote, c.State)))
	}
	return &outcome.Failure{
		Category: outcome.InfraFailure,
		Reason:   outcome.ReasonSandboxLost,
		Message: fmt.Sprintf("A wall of the sandbox was open, and %d connections that were made meanwhile do not end: %s. "+
			"The sandbox is given up with them.", resp.All, strings.Join(names, ", ")),
	}
}
