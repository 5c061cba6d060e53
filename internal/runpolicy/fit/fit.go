// SPDX-License-Identifier: Apache-2.0

// Package fit makes what a run shows small enough for its status: texts, artifacts, skills, and the whole status.
package fit

import (
	"encoding/json"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// MaxStatusBytes bounds the status of a run in JSON. It leaves space below 32 KiB for additions to a finished run.
const MaxStatusBytes = 30<<10 + 512

// Fit makes a status small enough to be written, independent of the input of models, tools and people. It drops the least needed first, and never a
// part that people or code rely on: conditions and their reasons, ids, numbers, times, the skill and its policy, the reachable domains, and the
// recovery context of the current attempt.
func Fit(st *v1alpha1.MotorRunStatus) {
	for _, shrink := range []func(*v1alpha1.MotorRunStatus){
		shortenFormer, dropRecoveryOfEnded, shortenTexts, shortenAll, shortenMore, shortenRejected, shortenResult, fewerArtifacts,
	} {
		if jsonSize(st) <= MaxStatusBytes {
			return
		}
		shrink(st)
	}
}

// jsonSize returns the size of a part of a status in JSON, in bytes.
func jsonSize(v any) int {
	b, err := json.Marshal(v)
	if err != nil {
		// Every part of a status has a JSON form.
		panic(err)
	}
	return len(b)
}

// shortenFormer retains of the attempts before the current one only how they failed.
func shortenFormer(st *v1alpha1.MotorRunStatus) {
	for i := range st.Attempts[:max(0, len(st.Attempts)-1)] {
		a := &st.Attempts[i]
		a.LastCalls, a.RecoveryContext = nil, ""
		shortenFailure(a, 200)
		// The steps have the costs, and the run has their sum.
		a.Usage.Cost, a.Usage.Currency, a.Usage.Unpriced = "", "", false
	}
}

func shortenFailure(a *v1alpha1.AttemptStatus, size int) {
	if a.Failure == nil {
		return
	}
	f := *a.Failure
	f.Message, f.Hint = CutEncoded(f.Message, size), CutEncoded(f.Hint, size)
	a.Failure = &f
}

// dropRecoveryOfEnded drops the recovery contexts of attempts that are over.
func dropRecoveryOfEnded(st *v1alpha1.MotorRunStatus) {
	for i := range st.Attempts {
		if st.Attempts[i].CompletionTime != nil {
			st.Attempts[i].RecoveryContext = ""
		}
	}
}

// shortenTexts shortens texts that can be read in full elsewhere: in the steps, or in another field.
func shortenTexts(st *v1alpha1.MotorRunStatus) {
	for i := range st.Conditions {
		st.Conditions[i].Message = CutEncoded(st.Conditions[i].Message, 300)
	}
	for i := range st.Attempts {
		for j := range st.Attempts[i].LastCalls {
			c := &st.Attempts[i].LastCalls[j]
			c.Head = CutEncoded(c.Head, 60)
		}
	}
	if p := st.Pending(); p != nil {
		short := *p
		short.Options, short.Files = cutEach(p.Options, 200), cutEach(p.Files, 128)
		short.Default = CutEncoded(p.Default, 200)
		if p.Action != nil {
			short.Action = new(*p.Action)
		}
		st.PendingInputs = v1alpha1.PendingList(&short)
	}
}

// cutEach returns the texts, each of them shortened.
func cutEach(texts []string, size int) []string {
	var short []string
	for _, s := range texts {
		short = append(short, CutEncoded(s, size))
	}
	return short
}

// shortenAll shortens every text to a length that fits in every case except a run with many domains.
func shortenAll(st *v1alpha1.MotorRunStatus) {
	st.Message = CutEncoded(st.Message, 300)
	for i := range st.Conditions {
		st.Conditions[i].Message = CutEncoded(st.Conditions[i].Message, 100)
	}
	for i := range st.Attempts {
		st.Attempts[i].LastCalls = nil
		shortenFailure(&st.Attempts[i], 150)
	}
	if p := st.Pending(); p != nil && p.Action != nil {
		// How to decide stands at the end of the question, which is short.
		p.Action.Arguments = CutMiddle(p.Action.Arguments, 768)
	} else if p != nil && p.Kind != v1alpha1.InputRetry {
		// The instructions for another attempt stand at the end; and then no recovery context uses the space.
		p.Question = CutEncoded(p.Question, 1024)
		p.Options, p.Files = cutEach(p.Options, 100), cutEach(p.Files, 60)
		p.Default = CutEncoded(p.Default, 100)
	}
	if r := st.Result; r != nil {
		r.Partial = CutEncoded(r.Partial, 2048)
	}
	shortenEnding(st)
}

// shortenEnding retains how a run ends whose end is not complete.
func shortenEnding(st *v1alpha1.MotorRunStatus) {
	if st.Ending == nil {
		return
	}
	e := *st.Ending
	e.Message = CutEncoded(e.Message, 300)
	if e.Failure != nil {
		f := *e.Failure
		f.Message, f.Hint = CutEncoded(f.Message, 300), CutEncoded(f.Hint, 150)
		e.Failure = &f
	}
	st.Ending = &e
}

// shortenMore frees space for as many domains and credentials as a run can have.
func shortenMore(st *v1alpha1.MotorRunStatus) {
	for i := range st.Conditions {
		st.Conditions[i].Message = CutEncoded(st.Conditions[i].Message, 40)
	}
	for i := range st.Attempts[:max(0, len(st.Attempts)-1)] {
		if f := st.Attempts[i].Failure; f != nil {
			f.Message, f.Hint = CutEncoded(f.Message, 60), ""
		}
	}
	if p := st.Pending(); p != nil && p.Kind != v1alpha1.InputRetry {
		p.Options, p.Files = cutEach(p.Options, 50), cutEach(p.Files, 30)
		p.Default = CutEncoded(p.Default, 50)
	}
}

// Bounds of the run's skill, and of the model's texts after the end, in bytes of JSON.
const (
	// maxSkillBytes is the most of a skill with the largest policy (skill.MaxPolicyBytes) and the most packages.
	maxSkillBytes = 10 << 10
	// minSummary is the minimum that remains of the closing text, and artifactsRoom the space for artifacts beside it.
	minSummary, artifactsRoom = 512, 4 << 10
)

// shortenResult frees space for a large policy: the last step has the texts in full.
func shortenResult(st *v1alpha1.MotorRunStatus) {
	if st.Result == nil {
		return
	}
	r := *st.Result
	st.Result = &r
	excess := func() int {
		n := jsonSize(st) + artifactsRoom - MaxStatusBytes
		for i := range r.Artifacts {
			n -= jsonSize(&r.Artifacts[i]) + len(",")
		}
		return n
	}
	if excess() > 0 {
		r.Partial = CutEncoded(r.Partial, 512)
	}
	if n := excess(); n > 0 {
		r.Summary = CutEncoded(r.Summary, max(minSummary, EncodedSize(r.Summary)-n))
	}
}

// SkillSize returns the size of a skill in a status.
func SkillSize(s *v1alpha1.RunSkill) int {
	if s == nil {
		return 0
	}
	return min(jsonSize(s), maxSkillBytes)
}
