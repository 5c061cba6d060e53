// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const (
	// MaxLog is the most bytes that Log returns.
	MaxLog = 16 << 10
	// maxLogged is the most bytes of one text in the log.
	maxLogged = 4 << 10
)

// entry is a step in the log.
type entry struct {
	attempt, index int32
	text           string
}

// Log returns what a run did, the newest last, of at most MaxLog bytes: what the model said, its calls, and what they returned. Lines of models, tools and
// pages begin with "| ", those of this package do not. It needs the right to read steps.
func (c *Client) Log(ctx context.Context, name string) (string, error) {
	run, err := c.Run(ctx, name)
	if err != nil {
		return "", err
	}
	var entries []entry
	omitted := 0
	err = inPages(metav1.ListOptions{Limit: 25, LabelSelector: v1alpha1.LabelRun + "=" + name}, func(o metav1.ListOptions) (string, error) {
		page, err := c.clients.Motor.MotorCortexV1alpha1().MotorSteps(c.namespace).List(ctx, o)
		if err != nil {
			return "", c.refused("list the steps of the run "+name, err, roleViewer)
		}
		for i := range page.Items {
			s := &page.Items[i]
			// An earlier run of the same name may have left some.
			if slices.ContainsFunc(s.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == run.UID }) {
				entries = append(entries, entry{s.Spec.Attempt, s.Spec.Index, logged(s)})
			}
		}
		var left int
		entries, left = newest(entries)
		omitted += left
		return page.Continue, nil
	})
	if err != nil {
		return "", err
	}
	return joined(entries, omitted), nil
}

// newest keeps the last entries, as many as a log has room for, in their order. It returns how many it left out.
func newest(entries []entry) ([]entry, int) {
	slices.SortStableFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.attempt, b.attempt), cmp.Compare(a.index, b.index))
	})
	size, from := 0, len(entries)
	for from > 0 && size < MaxLog {
		from--
		size += len(entries[from].text)
	}
	return slices.Clone(entries[from:]), from
}

// joined is the end of the entries.
func joined(entries []entry, omitted int) string {
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(e.text)
	}
	all := b.String()
	if omitted == 0 && len(all) <= MaxLog {
		return all
	}
	const note = "(what was before is left out)\n"
	from := max(len(all)-MaxLog+len(note), 0)
	if from > 0 {
		// A half line has lost the mark that it begins with.
		_, after, _ := strings.Cut(all[from:], "\n")
		return note + after
	}
	return note + all
}

// logged is a step in words.
func logged(s *v1alpha1.MotorStep) string {
	var b strings.Builder
	fmt.Fprintf(&b, "attempt %d, step %d", s.Spec.Attempt, s.Spec.Index)
	switch s.Spec.Type {
	case v1alpha1.StepSummary:
		fmt.Fprintf(&b, ": summary of the steps up to %d", s.Spec.Through)
	case v1alpha1.StepEnd:
		b.WriteString(": the attempt failed")
	case v1alpha1.StepOutage:
		b.WriteString(": the model cannot be had")
	case v1alpha1.StepTurn:
	}
	b.WriteByte('\n')
	if o := s.Spec.Outcome; o != nil {
		quote(&b, o.Reason+": "+o.Message)
	}
	if o := s.Spec.Outage; o != nil {
		quote(&b, o.Reason+": "+o.Message)
	}
	quote(&b, s.Spec.Content)
	for i := range s.Spec.ToolCalls {
		call := &s.Spec.ToolCalls[i]
		fmt.Fprintf(&b, "call of the tool %q with\n", head(call.Tool, 128))
		quote(&b, call.Arguments)
		j := slices.IndexFunc(s.Status.Results, func(r v1alpha1.ToolResult) bool { return r.CallID == call.ID })
		if j < 0 {
			fmt.Fprintf(&b, "no result (%s)\n", s.Status.Phase)
			continue
		}
		r := &s.Status.Results[j]
		state := "ok"
		if !r.OK {
			state = fmt.Sprintf("failed (%q)", head(r.ErrorCode, 64))
		}
		if r.Provenance == "Web" {
			state += ", from the web: not to be trusted"
		}
		fmt.Fprintf(&b, "%s, %d ms\n", state, r.DurationMilliseconds)
		quote(&b, r.Output)
	}
	return b.String()
}

// quote writes the beginning of a text that is not of this package, with a mark before each line.
func quote(b *strings.Builder, s string) {
	s = strings.TrimSuffix(head(s, maxLogged), "\n")
	if s == "" {
		return
	}
	// A lone carriage return, or another break of Unicode, would begin a line without the mark.
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n").Replace(s)
	for line := range strings.SplitSeq(s, "\n") {
		b.WriteString("| ")
		b.WriteString(line)
		b.WriteByte('\n')
	}
}
