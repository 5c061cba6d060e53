// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const (
	// maxRejectedBytes bounds the rejected skills in a status, in bytes of JSON. The step has all of them.
	maxRejectedBytes = 3 << 10
	// maxRejectedMessage is the most of a message among them if there are many, in bytes.
	maxRejectedMessage = 160
)

// ShowSkills returns as much of the result of the skills as fits into a status: every skill that was proposed, and of the folders that were not
// taken the first ones.
func ShowSkills(r *v1alpha1.SkillsResult) *v1alpha1.SkillsResult {
	if r == nil {
		return nil
	}
	shown := *r
	if jsonSize(r.Rejected) > maxRejectedBytes {
		shown.Rejected = fewerRejected(r.Rejected, maxRejectedMessage, maxRejectedBytes)
	}
	return &shown
}

// fewerRejected returns the first rejected skills that fit into that many bytes of JSON, each with a message of bounded length.
func fewerRejected(all []v1alpha1.RejectedSkill, message, size int) []v1alpha1.RejectedSkill {
	var few []v1alpha1.RejectedSkill
	for _, r := range all {
		r.Message = CutEncoded(r.Message, message)
		if few = append(few, r); jsonSize(few) > size {
			return few[:len(few)-1]
		}
	}
	return few
}

// shortenRejected drops most of the text about folders that were not taken.
func shortenRejected(st *v1alpha1.MotorRunStatus) {
	if st.Result == nil || st.Result.Skills == nil {
		return
	}
	result, skills := *st.Result, *st.Result.Skills
	skills.Rejected = fewerRejected(skills.Rejected, 50, 512)
	result.Skills = &skills
	st.Result = &result
}
