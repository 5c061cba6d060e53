// SPDX-License-Identifier: Apache-2.0

package bare

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/test/eval/internal/confine"
)

const (
	commandTime = 2 * time.Minute
	// maxShown is what of an output the model sees, as the tools of the operator show it.
	maxShown = 32 << 10
)

// Local runs commands on this machine, in a folder and without a network. Programs of the machine that a sandbox lacks are there:
// for figures that are to be compared use a Pod.
type Local struct{ Dir string }

// Bash runs a command.
func (l Local) Bash(ctx context.Context, command string) (string, error) {
	out, err := confine.Run(ctx, l.Dir, commandTime, "bash", "-c", command)
	return Shown(out, err)
}

// Shown returns an output as the model sees it. A status is part of it; another error says that the command could not be run.
func Shown(out string, err error) (string, error) {
	if len(out) > maxShown {
		out = strings.ToValidUTF8(out[:maxShown/2], "") + fmt.Sprintf("\n[%d bytes left out]\n", len(out)-maxShown) + strings.ToValidUTF8(out[len(out)-maxShown/2:], "")
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return out, nil
	case errors.As(err, &exit):
		return fmt.Sprintf("%s\n[exit status %d]", out, exit.ExitCode()), nil
	case errors.Is(err, confine.ErrTimeout):
		return fmt.Sprintf("%s\n[ended after %v]", out, commandTime), nil
	}
	return out, err
}
