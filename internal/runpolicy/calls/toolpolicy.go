// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"fmt"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/commandline"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Names of arguments that decide about a call.
const (
	ArgCommand        = "command"
	argMethod         = "method"
	argURL            = "url"
	argBody           = "body"
	argBodyFile       = "bodyFile"
	argIdempotencyKey = "idempotencyKey"
)

// maxPatterns bounds the patterns in the message to the model, in bytes.
const maxPatterns = 2048

// CommandRefused returns, for the model, which command of a bash call the run may not run, and which it may; "" if it may run them all. That is so
// unless the run has spec.bash.allowedCommands. Every command that the line can run must match one of them; see commandline.List.Disallowed.
func CommandRefused(run *v1alpha1.MotorRun, tool, arguments string) string {
	if tool != toolapi.ToolBash || run.Spec.Bash == nil || run.Spec.Bash.AllowedCommands == nil {
		return ""
	}
	why := Disallowed(arguments, run.Spec.Bash.AllowedCommands)
	if why == "" {
		return ""
	}
	return fmt.Sprintf("Nothing was run: %s.\n%s", Visible(fit.OneLine(why, 2*fit.MaxHead)), allowedText(run.Spec.Bash.AllowedCommands))
}

// Disallowed returns why the command line in the arguments may not run by the patterns, "" if it may.
func Disallowed(arguments string, patterns []v1alpha1.CommandPattern) string {
	line, err := TextArgument(arguments, ArgCommand)
	if err != nil {
		return "the arguments cannot be read: " + err.Error()
	}
	list, err := commandline.Parse(line)
	if err != nil {
		return "what the line runs cannot be told: " + err.Error()
	}
	allowed := make([]string, 0, len(patterns))
	for _, p := range patterns {
		allowed = append(allowed, string(p))
	}
	return list.Disallowed(allowed)
}

// allowedText returns the list of allowed commands for the model.
func allowedText(patterns []v1alpha1.CommandPattern) string {
	if len(patterns) == 0 {
		return "This task may run no commands at all."
	}
	var b strings.Builder
	for i, p := range patterns {
		if b.Len()+len(p) > maxPatterns {
			fmt.Fprintf(&b, "\nand %d more", len(patterns)-i)
			break
		}
		fmt.Fprintf(&b, "\n%s", p)
	}
	return "Every command of the line, also of what it has a shell, env, xargs or find run, must be one of these, where * stands for any text in a " +
		"word, and at the end for any further arguments:" + b.String()
}

// hasWayOut reports whether the sandbox has, or was ever allowed to have, a way out.
func hasWayOut(run *v1alpha1.MotorRun) bool {
	return len(run.Spec.Domains) > 0 ||
		slices.ContainsFunc(run.Spec.Responses, func(r v1alpha1.Response) bool {
			return r.Decision == v1alpha1.DecisionAllowOnce || r.Decision == v1alpha1.DecisionAllowRun || len(r.AddDomains) > 0
		})
}
