// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/show"
)

// stepView is a step whole.
type stepView struct {
	stepLine

	Model   string     `json:"model,omitempty"`
	Content string     `json:"content,omitempty"`
	Value   string     `json:"value,omitempty"`
	Whole   []callView `json:"whole"`
}

// callView is a call whole, with what it gave.
type callView struct {
	callLine

	ID     string     `json:"id"`
	Parts  []partView `json:"parts"`
	Output string     `json:"output,omitempty"`
	// OutputFile is the file in the workspace that has all of an output that is cut.
	OutputFile string `json:"outputFile,omitempty"`
}

// step shows one step of a run whole.
func step(ctx context.Context, q *query) (any, error) {
	s := &v1alpha1.MotorStep{}
	key := client.ObjectKey{Namespace: q.PathValue("namespace"), Name: q.PathValue("step")}
	if err := q.Client.Get(ctx, key, s); err != nil {
		return nil, err
	}
	if s.Labels[v1alpha1.LabelRun] != q.PathValue("name") {
		return nil, problem{http.StatusNotFound, key.Name + " is no step of this run."}
	}
	v := stepView{stepLine: stepLineOf(s), Model: show.Text(s.Spec.Model), Content: show.Text(s.Spec.Content), Value: show.Text(s.Spec.Value), Whole: []callView{}}
	for i := range s.Spec.ToolCalls {
		call := &s.Spec.ToolCalls[i]
		c := callView{callLine: callLineOf(s, call), ID: show.Text(call.ID), Parts: partsOf(call.Tool, call.Arguments)}
		if j := slices.IndexFunc(s.Status.Results, func(r v1alpha1.ToolResult) bool { return r.CallID == call.ID }); j >= 0 {
			r := &s.Status.Results[j]
			// Lines of programs may end as those of Windows and of terminals do.
			c.Output, c.OutputFile = show.Text(strings.ReplaceAll(r.Output, "\r\n", "\n")), show.Text(r.OutputFile)
		}
		v.Whole = append(v.Whole, c)
	}
	return map[string]any{"step": v}, nil
}
