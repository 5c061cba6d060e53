// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"encoding/json"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// actionRetry is of core_task.
const actionRetry = "retry"

// ProposedDecision is what a call would decide about an ask of a run. A program that can ask a person has them decide in its place.
type ProposedDecision struct {
	// Decide names the ask. UID is "" if a call of core_task leaves it out, and AskID too for a retry.
	Decide
	// Retry has the retry that the call asks for, nil for any other decision.
	Retry *ProposedRetry
}

// ProposedRetry is another attempt of a run, which may reach further domains.
type ProposedRetry struct {
	Guidance string
	Domains  []v1alpha1.Domain
}

// Proposes returns what a call would decide about an ask, nil for a call that decides nothing which only a person may decide about one. It returns the error
// that the call would have for arguments which the tool does not take: a person is not asked about those.
func Proposes(tool string, arguments json.RawMessage) (*ProposedDecision, error) {
	switch tool {
	case ToolDecide:
		d, err := argumentsOf[Decide](arguments)
		if err == nil {
			err = d.check()
		}
		if err != nil {
			return nil, err
		}
		return &ProposedDecision{Decide: d}, nil
	case ToolTask:
		a, err := argumentsOf[taskArguments](arguments)
		if err != nil || !a.decides() {
			return nil, err
		}
		if err := a.check(); err != nil {
			return nil, err
		}
		p := &ProposedDecision{Decide: Decide{Action: a.Action, Run: a.Run, UID: a.UID, AskID: a.AskID, Answer: a.Answer, Digest: a.Digest}}
		if a.Action == actionRetry {
			p.Retry = &ProposedRetry{Guidance: a.Guidance, Domains: a.Domains}
		}
		return p, nil
	}
	return nil, nil //nolint:nilnil // The call decides nothing about an ask.
}

// RetryArguments are those of core_task for a retry of the run that is named.
func RetryArguments(to Ref, r ProposedRetry) (json.RawMessage, error) {
	arguments := map[string]any{"action": actionRetry, "runId": to.Run, "runUid": to.UID, "askId": to.ID}
	if r.Guidance != "" {
		arguments["guidance"] = r.Guidance
	}
	if len(r.Domains) > 0 {
		arguments["domains"] = r.Domains
	}
	return json.Marshal(arguments)
}
