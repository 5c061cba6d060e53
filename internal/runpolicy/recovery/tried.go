// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

const (
	// maxTried bounds the last calls of an attempt in the recovery context of the next one, maxChanged the changed files in it.
	maxTried   = 8
	maxChanged = 20
	// Bounds of the text about a call, in bytes of JSON. The output of a call that succeeded shows less about why the attempt failed.
	maxTriedArguments = 200
	maxTriedOutput    = 400
	maxTriedOK        = 120
	// maxChangedPath is the longest path that the context names.
	maxChangedPath = 200
)

// tried is a call of an attempt with its outcome.
type tried struct {
	tool, arguments string
	ok              bool
	code, output    string
	// times is how many times in a row it was made with this end.
	times int
}

// triedIn returns the last calls of an attempt. Repeats of a call with the same outcome are counted as one: otherwise an attempt that ends because
// it repeats itself would be remembered for nothing else.
func triedIn(calls []calls.Recorded) []tried {
	var list []tried
	for _, rc := range slices.Backward(calls) {
		c, r := rc.Call, rc.Result
		now := tried{tool: c.Tool, arguments: fit.CutEncoded(c.Arguments, maxTriedArguments), ok: r.OK, code: r.ErrorCode, output: ends(r.Output), times: 1}
		if n := len(list); n > 0 && list[n-1].tool == now.tool && list[n-1].arguments == now.arguments && list[n-1].code == now.code {
			list[n-1].times++
			continue
		}
		if len(list) == maxTried {
			break
		}
		list = append(list, now)
	}
	slices.Reverse(list)
	return list
}

// ends returns an output without its middle if it is long.
func ends(output string) string {
	if n := len(output); n > 4*maxTriedOutput {
		output = output[:2*maxTriedOutput] + output[n-2*maxTriedOutput:]
	}
	return fit.CutMiddle(strings.TrimSpace(output), maxTriedOutput)
}

// patched finds the files of a patch in the forms that the patch tool reads.
var patched = regexp.MustCompile(`(?m)^(?:\+\+\+ (?:b/)?|\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: )([^\t\r\n]+)`)

// changedIn returns the files that the calls of an attempt wrote with their tools, in the order in which they were first written.
func changedIn(calls []calls.Recorded) []string {
	var changed []string
	for _, rc := range calls {
		if !rc.Result.OK || len(changed) >= maxChanged {
			continue
		}
		for _, name := range writtenBy(rc.Call) {
			name = path.Clean(strings.TrimSpace(name))
			if name != "." && name != "/dev/null" && len(name) <= maxChangedPath && !slices.Contains(changed, name) {
				changed = append(changed, name)
			}
		}
	}
	return changed[:min(len(changed), maxChanged)]
}

// writtenBy returns the files that a call wrote by its arguments.
func writtenBy(c *v1alpha1.ToolCall) []string {
	var args struct {
		Path  string `json:"path"`
		Patch string `json:"patch"`
	}
	if c.Tool != toolapi.ToolWrite && c.Tool != toolapi.ToolEdit && c.Tool != toolapi.ToolPatch || json.Unmarshal([]byte(c.Arguments), &args) != nil {
		return nil
	}
	names := []string{args.Path}
	for _, m := range patched.FindAllStringSubmatch(args.Patch, maxChanged) {
		names = append(names, m[1])
	}
	return names
}

// tried names the last calls of the attempt, as many of the newest as fit, in their order.
func (t *boundedText) tried(calls []tried) {
	const title = "Its last calls, the newest last, each with what came of it:\n"
	room := t.left - fit.EncodedSize(title)
	var lines []string
	for _, c := range slices.Backward(calls) {
		line := c.String()
		if room -= fit.EncodedSize(line) + 2; room < 0 {
			break
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return
	}
	t.line("%s", strings.TrimSuffix(title, "\n"))
	for _, line := range slices.Backward(lines) {
		t.line("%s", line)
	}
}

// String returns the call as a line of a recovery context.
func (c tried) String() string {
	end, most := "succeeded", maxTriedOK
	if !c.ok {
		end, most = "ended with "+fit.Quoted(c.code, maxHead), maxTriedOutput
	}
	if c.times > 1 {
		end += fmt.Sprintf(", %d times in a row", c.times)
	}
	line := fmt.Sprintf("- %s %s %s", fit.Quoted(c.tool, maxHead), fit.Quoted(c.arguments, maxTriedArguments), end)
	if c.output != "" {
		line += ": " + fit.QuotedMiddle(c.output, most)
	}
	return line
}

// changed names the files that the attempt wrote with its tools.
func (t *boundedText) changed(files []string) {
	if len(files) == 0 {
		return
	}
	quoted := make([]string, 0, len(files))
	for _, f := range files {
		quoted = append(quoted, fit.Quoted(f, maxChangedPath))
	}
	t.line("Files that it wrote or changed with write, edit and patch: %s. Where git is there, git diff shows all changes since the beginning.",
		strings.Join(quoted, ", "))
}
