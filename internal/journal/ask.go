// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// asks returns the recorded asks plus those that the turn adds: further asks, and outcomes of asks that have none. Another loop may have recorded
// the same ask, or its response, before; the earlier record counts. told reports whether a call has its recorded result: until then a file of the
// response can turn out to be one that cannot be put into the workspace.
func asks(recorded []v1alpha1.StepAsk, found []turn.Ask, told func(callID string) bool) []v1alpha1.StepAsk {
	all := slices.Clone(recorded)
	for _, a := range found {
		i := slices.IndexFunc(all, func(r v1alpha1.StepAsk) bool { return r.ID == a.ID })
		if i < 0 {
			i = len(all)
			all = append(all, v1alpha1.StepAsk{
				ID: a.ID, Kind: v1alpha1.InputKind(a.Kind), CallID: a.CallID, Execution: a.Execution, Digest: a.Digest, Rule: a.Rule, Domain: v1alpha1.Domain(a.Domain),
				AskTime: metav1.NewTime(a.AskedAt), ExpirationTime: metav1.NewTime(a.ExpiresAt), OnTimeout: v1alpha1.OnTimeout(a.OnTimeout),
			})
		}
		if r := &all[i]; r.Outcome == "" && a.Outcome != "" {
			r.Outcome, r.Decision, r.By, r.Reason = v1alpha1.AskOutcome(a.Outcome), v1alpha1.Decision(a.Decision), a.By, a.Reason
			r.CloseTime, r.Files = metav1.NewTime(a.ClosedAt), askFiles(a.Files)
		} else if !told(r.CallID) {
			r.Files = withProblems(r.Files, a.Files)
		}
	}
	return all
}

// AskOf returns an ask of a step as the loop knows it.
func AskOf(a *v1alpha1.StepAsk) turn.Ask {
	return turn.Ask{
		ID: a.ID, Kind: turn.AskKind(a.Kind), CallID: a.CallID, Execution: a.Execution, Digest: a.Digest, Rule: a.Rule, Domain: string(a.Domain),
		AskedAt: a.AskTime.Time, ExpiresAt: a.ExpirationTime.Time, ClosedAt: a.CloseTime.Time, OnTimeout: turn.OnTimeout(a.OnTimeout),
		Outcome: turn.AskOutcome(a.Outcome), Decision: string(a.Decision), By: a.By, Reason: a.Reason, Files: filesOf(a.Files),
	}
}

func askFiles(files []turn.File) []v1alpha1.AskFile {
	var list []v1alpha1.AskFile
	for _, f := range files {
		from := toolapi.ProvenanceInternal
		if f.Web {
			from = toolapi.ProvenanceWeb
		}
		list = append(list, v1alpha1.AskFile{
			Path: f.Path, Size: f.Size, MediaType: f.MediaType, SHA256: f.SHA256, Provenance: string(from), Problem: f.Problem,
		})
	}
	return list
}

// withProblems returns the recorded files with the problems that were found since.
func withProblems(recorded []v1alpha1.AskFile, found []turn.File) []v1alpha1.AskFile {
	all := slices.Clone(recorded)
	for i := range all {
		if i < len(found) && found[i].Path == all[i].Path && all[i].Problem == "" {
			all[i].Problem = found[i].Problem
		}
	}
	return all
}

func filesOf(files []v1alpha1.AskFile) []turn.File {
	var list []turn.File
	for _, f := range files {
		list = append(list, turn.File{
			Path: f.Path, Size: f.Size, MediaType: f.MediaType, SHA256: f.SHA256, Web: f.Provenance == string(toolapi.ProvenanceWeb), Problem: f.Problem,
		})
	}
	return list
}

// askedFor returns how long people took for the asks of a call, of the given kinds.
func askedFor(all []v1alpha1.StepAsk, callID string, kinds ...v1alpha1.InputKind) time.Duration {
	var sum time.Duration
	for i := range all {
		if a := &all[i]; a.CallID == callID && a.Outcome != "" && slices.Contains(kinds, a.Kind) {
			sum += max(0, a.CloseTime.Sub(a.AskTime.Time))
		}
	}
	return sum
}
