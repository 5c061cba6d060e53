// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"encoding/json"
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/output"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// outcome is what a run that has ended came to. A run that did not come to its code has no value: its reason stands for the code of the error.
func outcome(run *v1alpha1.MotorRun) toolapi.OneshotResult {
	var r toolapi.OneshotResult
	st := &run.Status
	if st.Result != nil && st.Result.Value != "" {
		if err := json.Unmarshal([]byte(st.Result.Value), &r); err == nil {
			return r
		}
	}
	return toolapi.OneshotResult{Error: &toolapi.OneshotError{Code: st.Reason, Message: st.Message}}
}

// print prints what a run came to: data to standard output, everything else to standard error.
func (o *options) print(s verb.Streams, run *v1alpha1.MotorRun) error {
	r := outcome(run)
	succeeded := apimeta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionSucceeded) && r.OK
	if o.format != output.ForPeople {
		if err := output.Value(s.Out, o.format, r); err != nil {
			return err
		}
		return answer(succeeded)
	}
	show.Block(s.Err, "", r.Console)
	if r.Truncated && r.Head == "" {
		fmt.Fprintln(s.Err, "note: what the code printed is cut off")
	}
	switch {
	case r.Error != nil:
		show.Block(s.Err, "", "error: "+r.Error.Code+": "+r.Error.Message)
	case r.Head != "":
		// Who reads a part of a value as the value is wrong without knowing it.
		fmt.Fprintln(s.Err, "error: the value is too long to be kept: have the code return less. It begins with")
		show.Block(s.Err, "  | ", r.Head)
		succeeded = false
	case len(r.Value) == 0:
		fmt.Fprintln(s.Out, "null")
	case s.Screen:
		show.Block(s.Out, "", string(r.Value))
	default:
		fmt.Fprintf(s.Out, "%s\n", r.Value)
	}
	return answer(succeeded)
}

func answer(yes bool) error {
	if yes {
		return nil
	}
	return verb.ErrNo
}
