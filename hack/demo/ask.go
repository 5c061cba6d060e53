// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// interactive reports whether somebody sits there who can answer.
func interactive(in *os.File) bool {
	if os.Getenv("CI") != "" {
		return false
	}
	info, err := in.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && !isNull(info)
}

// isNull recognizes the device that programs without a terminal are given instead.
func isNull(info os.FileInfo) bool {
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(info, null)
}

// inputLines reads lines for as long as there are any. The reader cannot be interrupted, so it is started only once.
func inputLines(in io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(in)
		for scanner.Scan() {
			lines <- scanner.Text()
		}
	}()
	return lines
}

// prompt shows the options as numbers.
func prompt(input *v1alpha1.PendingInput) string {
	var b strings.Builder
	for i, option := range input.Options {
		fmt.Fprintf(&b, "           %d) %s\n", i+1, clean(option))
	}
	if d := defaultAnswer(input); d != "" {
		fmt.Fprintf(&b, "           your answer, a number or your own words [%s]: ", clean(d))
	} else {
		b.WriteString("           your answer: ")
	}
	return b.String()
}

// chosen reads what was typed: a number is an option, nothing is the default, everything else the answer itself. It
// is empty if nothing was typed and there is no default.
func chosen(input *v1alpha1.PendingInput, typed string) string {
	typed = strings.TrimSpace(typed)
	if n, err := strconv.Atoi(typed); err == nil && n >= 1 && n <= len(input.Options) {
		return input.Options[n-1]
	}
	return cmp.Or(typed, defaultAnswer(input))
}

// defaultAnswer returns the answer that nothing typed stands for. A decision is never taken in that way.
func defaultAnswer(input *v1alpha1.PendingInput) string {
	if input.Kind != v1alpha1.InputQuestion && input.Kind != "" {
		return ""
	}
	if input.Default == "" && len(input.Options) > 0 {
		return input.Options[0]
	}
	return input.Default
}

// unattended returns the answer when nobody can be asked, and why it is that one. The answer given beforehand is for
// the first question only: a run that asks again did not like it.
func unattended(input *v1alpha1.PendingInput, given string, first bool) (answer, why string, err error) {
	if input.Kind == v1alpha1.InputRetry {
		return "", "", fmt.Errorf("the attempt failed, and the run waits for a retry: %s", clean(input.Question))
	}
	if input.Kind == v1alpha1.InputOutcomeUnknown {
		// Whether to make the call again is nothing to guess at.
		return string(v1alpha1.DecisionSkip), "it is unknown what the call did", nil
	}
	if input.Kind == v1alpha1.InputDomainRequest || input.Kind == v1alpha1.InputApproval {
		return string(v1alpha1.DecisionDeny), "a person takes such a decision, and the demo has none", nil
	}
	if given != "" && first {
		return given, "from DEMO_ANSWER", nil
	}
	switch {
	case input.Default != "":
		return input.Default, "the question's default; DEMO_ANSWER sets another", nil
	case len(input.Options) > 0:
		return input.Options[0], "the first option; DEMO_ANSWER sets another", nil
	}
	return "", "", fmt.Errorf("the run asked %q, which has no default: set DEMO_ANSWER, or start the demo on a terminal", clean(input.Question))
}

// respond answers the way kubectl patch --type=json does. Another answer than one of the decisions about an attempt that failed is the guidance of a
// further one, and about a call of unknown outcome the reason to go on without it.
func respond(ctx context.Context, c client.Client, key client.ObjectKey, input *v1alpha1.PendingInput, answer string) error {
	r := v1alpha1.Response{ID: input.ID}
	isDecision := slices.Contains(input.Options, answer)
	switch input.Kind {
	case v1alpha1.InputRetry:
		if r.Decision = v1alpha1.DecisionRetry; isDecision {
			r.Decision = v1alpha1.Decision(answer)
		} else {
			r.Guidance = answer
		}
	case v1alpha1.InputOutcomeUnknown:
		if r.Decision = v1alpha1.DecisionSkip; isDecision {
			r.Decision = v1alpha1.Decision(answer)
		} else {
			r.Reason = answer
		}
	case v1alpha1.InputDomainRequest, v1alpha1.InputApproval:
		r.Decision = v1alpha1.Decision(answer)
	default:
		r.Answer = answer
	}
	patch, err := json.Marshal([]map[string]any{{"op": "add", "path": "/spec/responses/-", "value": r}})
	if err != nil {
		return err
	}
	run := &v1alpha1.MotorRun{}
	run.Namespace, run.Name = key.Namespace, key.Name
	if err := c.Patch(ctx, run, client.RawPatch(types.JSONPatchType, patch)); err != nil {
		return fmt.Errorf("answer the question %s: %w", input.ID, err)
	}
	return nil
}
