// SPDX-License-Identifier: Apache-2.0

//go:build linux

package program

import (
	"context"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
)

const (
	bashUsage       = `"command", and optionally "timeoutSeconds", "background" and "idempotencyKey"`
	bashTimeout     = 60 * time.Second
	invalidNULInArg = "%s contains a NUL character, which no program can be given. Remove it."
)

// bash runs a command line.
func (p *Runner) bash(ctx context.Context, j tool.Job) toolapi.Result {
	var args toolapi.BashArgs
	if bad := tool.Decode(j.Args, &args, bashUsage); bad != nil {
		return *bad
	}
	preset := bashTimeout
	if args.Background {
		preset = 0 // It runs until the end.
	}
	timeout, bad := timeoutOf(args.TimeoutSeconds, preset)
	if bad != nil {
		return *bad
	}
	if strings.TrimSpace(args.Command) == "" {
		return tool.Failure(toolapi.CodeInvalidArguments, "The command is empty.")
	}
	if strings.ContainsRune(args.Command, 0) {
		return tool.Failure(toolapi.CodeInvalidArguments, invalidNULInArg, "The command")
	}
	if args.Background {
		return p.runBackground(ctx, j, args.Command, timeout)
	}
	return p.run(ctx, j, Program{
		Name: "bash",
		// After -- a command that begins with a dash is still a command.
		Args:    []string{"-c", "--", args.Command},
		Timeout: timeout,
		notes:   func() string { return p.background.report(j.Limit/2, nil) },
	})
}
