// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/pkg/client/motor/asks"
)

// Actions of core_decide.
const (
	DecideAnswer  = "answer"
	DecideApprove = "approve"
	DecideDeny    = "deny"
	DecideAllow   = "allow"
	DecideSettle  = "settle"
	DecideAsk     = "ask"
)

// Decide has the arguments of core_decide: what a person decided about one ask of one run.
type Decide struct {
	// Action is one of DecideAnswer, DecideApprove, DecideDeny, DecideAllow and DecideSettle. DecideAsk has the person asked by the program that made the
	// call, which a Toolset cannot.
	Action string `json:"action"`
	// Run, UID and AskID name the ask. Another run can get the name later, and ask under the same id.
	Run   string    `json:"runId"`
	UID   types.UID `json:"runUid"`
	AskID string    `json:"askId"`
	// Answer goes with DecideAnswer, as do Files.
	Answer string       `json:"answer,omitempty"`
	Files  []AnswerFile `json:"files,omitempty"`
	// Digest is that of the call, for DecideApprove and for DecideDeny of a call.
	Digest string `json:"digest,omitempty"`
	// Outcome goes with DecideSettle: Retry, Done or Skip.
	Outcome v1alpha1.Decision `json:"outcome,omitempty"`
	// WholeRun goes with DecideApprove and DecideAllow: until the run ends, and not once.
	WholeRun bool `json:"wholeRun,omitempty"`
	// Reason is in the person's words. The run's model is told it.
	Reason string `json:"reason,omitempty"`
}

// AnswerFile is a text file that goes with an answer.
type AnswerFile struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// errNoForm is the answer where no person can be asked by the program.
var errNoForm = errors.New("this program cannot ask a person: show them the ask, and call again with the action that they decided on")

// decide passes on what a person decided.
func (t *Toolset) decide(ctx context.Context, d Decide) (any, error) {
	if err := t.consent(ctx, ToolDecide, d.Action); err != nil {
		return nil, err
	}
	if err := d.check(); err != nil {
		return nil, err
	}
	to := Ref{Run: d.Run, UID: d.UID, ID: d.AskID}
	switch d.Action {
	case DecideAnswer:
		files, err := responseFiles(d.Files)
		if err != nil {
			return nil, err
		}
		return t.Client.Respond(ctx, to, d.Answer, files...)
	case DecideApprove:
		return t.Client.Approve(ctx, to, d.Digest, d.WholeRun, d.Reason)
	case DecideDeny:
		return t.Client.Deny(ctx, to, d.Digest, d.Reason)
	case DecideAllow:
		return t.Client.Allow(ctx, to, d.WholeRun, d.Reason)
	case DecideSettle:
		return t.Client.Settle(ctx, to, d.Outcome, d.Reason)
	}
	return nil, errNoForm
}

// check returns an error for arguments that do not say which ask is decided, or that do not belong to the action: such a word would be passed over.
func (d *Decide) check() error {
	var needs, takes []string
	switch d.Action {
	case DecideAnswer:
		needs, takes = []string{"answer"}, []string{"files"}
	case DecideApprove:
		needs, takes = []string{"digest"}, []string{"wholeRun", "reason"}
	case DecideDeny:
		takes = []string{"digest", "reason"}
	case DecideAllow:
		takes = []string{"wholeRun", "reason"}
	case DecideSettle:
		needs, takes = []string{"outcome"}, []string{"reason"}
	case DecideAsk:
	default:
		return fmt.Errorf("the action %q is none of answer, approve, deny, allow, settle and ask", d.Action)
	}
	given := map[string]bool{
		"answer": d.Answer != "", "files": len(d.Files) > 0, "digest": d.Digest != "", "outcome": d.Outcome != "", "wholeRun": d.WholeRun, "reason": d.Reason != "",
		"runId": d.Run != "", "runUid": d.UID != "", "askId": d.AskID != "",
	}
	needs = append([]string{"runId", "runUid", "askId"}, needs...)
	for _, name := range needs {
		if !given[name] {
			return missing(d.Action, name)
		}
		delete(given, name)
	}
	for _, name := range takes {
		delete(given, name)
	}
	for _, name := range []string{"answer", "files", "digest", "outcome", "wholeRun", "reason"} {
		if given[name] {
			return fmt.Errorf("%s takes no %s", d.Action, name)
		}
	}
	return nil
}

// responseFiles are the files that go with an answer, as a response has them.
func responseFiles(of []AnswerFile) ([]v1alpha1.ResponseFile, error) {
	var files []v1alpha1.ResponseFile
	for _, f := range of {
		file, err := asks.File(f.Path, []byte(f.Content))
		if err != nil {
			return nil, fmt.Errorf("the file %q: %w", f.Path, err)
		}
		files = append(files, file)
	}
	return files, nil
}
