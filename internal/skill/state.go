// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/text"
)

const (
	// maxVerdict is the most bytes of a message, as many as a condition of a skill keeps.
	maxVerdict = 1024
	// maxNamedFiles is how many changed files a message names.
	maxNamedFiles = 5
)

// Observation is everything that the state of a skill is decided by.
type Observation struct {
	// Source is what spec.source has now, nil if there is no source or it could not be read. Then the last known source counts.
	Source *SourceState
	// Revisions of the skill, in any order. A revision that is not Sound does not count.
	Revisions []v1alpha1.SkillRevision
	Spec      *v1alpha1.SkillSpec
	// Status is the one that was written last.
	Status *v1alpha1.SkillStatus
	Now    time.Time
}

// SourceState is the content of a source.
type SourceState struct{ ContentHash string }

// Verdict is what Decide found.
type Verdict struct {
	State v1alpha1.SkillState
	// Reason of the condition Approved.
	Reason string
	// Message is one sentence or two: the state of the skill, and what to do.
	Message string
	// Revision is the one that an approval is asked for, unless it has it: what status.revisionName names. Nil if there is none.
	Revision *v1alpha1.SkillRevision
	// Approved is the revision that runs use, nil unless State is Approved.
	Approved *v1alpha1.SkillRevision
	// Record is what status.approved is to be, nil for nothing.
	Record *v1alpha1.ApprovedRevision
	// WakeAt is when the approval ends, zero if that needs no look.
	WakeAt time.Time
}

// Decide determines the state of a skill:
//
//	new content ─► PendingReview ─► AwaitingApproval ─► Approved ─► NeedsReapproval   content, policy or time
//	                                   │           │ ▲            │
//	                                   ▼           │ └────────────┘           approved again, or the change taken back
//	                                Rejected       ▼
//	                                            Revoked
//
// An approval holds for one content and one policy. A content that a run proposes does not affect it. A source that differs from its
// content at the time of the approval does.
func Decide(o Observation) Verdict {
	d := &decision{Observation: o, source: lastSource(o)}
	d.newest(o.Revisions)
	switch a := o.Spec.Approval; {
	case a == nil:
		return d.unapproved()
	case a.Decision != v1alpha1.SkillDecisionApproved && a.Decision != "":
		return d.verdict(v1alpha1.SkillRevoked, v1alpha1.ReasonSkillRevoked, "The approval was revoked: no run can use the skill until it is approved again.")
	default:
		return d.approved(a)
	}
}

// decision is one call of Decide.
type decision struct {
	Observation
	// source is the content of spec.source, "" if there is none or it was never read.
	source string
	// revisions that count, the newest first.
	revisions []*v1alpha1.SkillRevision
}

func lastSource(o Observation) string {
	switch {
	case o.Source != nil:
		return o.Source.ContentHash
	case o.Spec.Source != nil && o.Status.Source != nil:
		return o.Status.Source.ContentHash
	}
	return ""
}

// newest orders the revisions that count.
func (d *decision) newest(all []v1alpha1.SkillRevision) {
	for i := range all {
		if r := &all[i]; Sound(r) {
			d.revisions = append(d.revisions, r)
		}
	}
	slices.SortFunc(d.revisions, func(a, b *v1alpha1.SkillRevision) int { return CompareAge(b, a) })
}

// Sound reports whether a revision can be used: its contentHash is that of its files, and it is not being deleted.
func Sound(r *v1alpha1.SkillRevision) bool {
	return r.DeletionTimestamp == nil && HashOf(r.Spec.Files) == r.Spec.ContentHash
}

// CompareAge is negative if a is older than b. Times have no fractions of seconds, and the proposal of a run comes after the revision that
// it began with.
func CompareAge(a, b *v1alpha1.SkillRevision) int {
	return cmp.Or(
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		cmp.Compare(proposed(a), proposed(b)),
		cmp.Compare(a.Name, b.Name),
	)
}

func proposed(r *v1alpha1.SkillRevision) int {
	if r.Spec.ExtractedFrom == nil {
		return 0
	}
	return 1
}

// of is the revision with a content, nil if there is none.
func (d *decision) of(contentHash string) *v1alpha1.SkillRevision {
	i := slices.IndexFunc(d.revisions, func(r *v1alpha1.SkillRevision) bool { return r.Spec.ContentHash == contentHash })
	if i < 0 {
		return nil
	}
	return d.revisions[i]
}

// candidate is the revision to approve next. It is the content of the source, unless a run has proposed a revision after it that was not
// rejected. Without a revision of the source, it is the newest one. A source can go back to a content that it had before, whose revision is
// not the newest then.
func (d *decision) candidate() *v1alpha1.SkillRevision {
	current := d.of(d.source)
	for _, r := range d.revisions {
		if current == nil || r == current || proposed(r) == 1 && !d.rejected(r) {
			return r
		}
	}
	return nil
}

func (d *decision) verdict(state v1alpha1.SkillState, reason, format string, args ...any) Verdict {
	return Verdict{State: state, Reason: reason, Message: text.CutBytes(fmt.Sprintf(format, args...), maxVerdict), Revision: d.candidate()}
}

// unapproved is the verdict while spec.approval is unset.
func (d *decision) unapproved() Verdict {
	r := d.candidate()
	switch {
	case r == nil:
		return d.verdict(v1alpha1.SkillPendingReview, v1alpha1.ReasonNoRevision, "The skill has no files yet.")
	case d.rejected(r):
		return d.verdict(v1alpha1.SkillRejected, v1alpha1.ReasonSkillRejected,
			"%s was rejected: change the files, or approve it after all.", r.Spec.ContentHash)
	case IsSetAside(r):
		return d.verdict(v1alpha1.SkillPendingReview, v1alpha1.ReasonReviewSetAside, "%s", SetAside(r))
	case r.Status.ReviewTime == nil:
		return d.verdict(v1alpha1.SkillPendingReview, v1alpha1.ReasonReviewing, "What the files mention is being gathered.")
	}
	return d.verdict(v1alpha1.SkillAwaitingApproval, v1alpha1.ReasonAwaitingApproval,
		"The skill is not approved: look at status.review and at the SkillRevision %s, and approve %s.", r.Name, r.Spec.ContentHash)
}

func (d *decision) rejected(r *v1alpha1.SkillRevision) bool { return isRejected(d.Spec, r) }

// approved is the verdict while spec.approval is an approval.
func (d *decision) approved(a *v1alpha1.SkillApproval) Verdict {
	if a.ExpirationTime != nil && !d.Now.Before(a.ExpirationTime.Time) {
		// The record is removed with it: a person who approves again has seen the current content of the source by then.
		return d.verdict(v1alpha1.SkillNeedsReapproval, v1alpha1.ReasonApprovalExpired,
			"The approval ended at %s: approve %s again.", a.ExpirationTime.UTC().Format(time.RFC3339), a.ContentHash)
	}
	v := d.inForce(a)
	if a.ExpirationTime != nil {
		v.WakeAt = a.ExpirationTime.Time
	}
	return v
}

// inForce is the verdict on an approval that has not ended.
func (d *decision) inForce(a *v1alpha1.SkillApproval) Verdict {
	if hash := PolicyHash(&d.Spec.Policy); hash != a.PolicyHash {
		v := d.verdict(v1alpha1.SkillNeedsReapproval, v1alpha1.ReasonPolicyChanged,
			"The policy is %s and %s was approved: approve the new one, or take the change back.", hash, a.PolicyHash)
		v.Record = d.Status.Approved
		return v
	}
	r := d.of(a.ContentHash)
	if r == nil {
		return d.unknown(a)
	}
	record := d.record(a, r)
	if d.source != "" && d.source != a.ContentHash && d.source != record.SourceHash {
		v := d.verdict(v1alpha1.SkillNeedsReapproval, v1alpha1.ReasonContentChanged,
			"The source gives other files than %s, which was approved%s: approve %s, take the change back, or approve the old ones with another note.",
			a.ContentHash, d.changes(r), d.source)
		v.Record = record
		return v
	}
	v := d.verdict(v1alpha1.SkillApproved, v1alpha1.ReasonSkillApproved, "Runs can use the skill.")
	if c := v.Revision; c != nil && c != r && proposed(c) == 1 && !d.rejected(c) {
		v.Message = text.CutBytes(fmt.Sprintf("Runs can use the skill as it was approved. The run %s proposes %s: look at the SkillRevision %s, and approve or reject it.",
			c.Spec.ExtractedFrom.RunName, c.Spec.ContentHash, c.Name), maxVerdict)
	}
	v.Approved, v.Record = r, record
	return v
}

// unknown is the verdict on an approval of a content that there is no revision of.
func (d *decision) unknown(a *v1alpha1.SkillApproval) Verdict {
	state := v1alpha1.SkillNeedsReapproval
	if d.Status.Approved == nil && d.Spec.Source != nil && d.source == "" {
		state = v1alpha1.SkillPendingReview
	}
	v := d.verdict(state, v1alpha1.ReasonContentUnknown,
		"There is no revision with the approved content %s: approve one of status.revisionNames, or let the source give that content.", a.ContentHash)
	v.Record = d.Status.Approved
	return v
}

// record is the stored form of an approval: the stored one, if it is the same approval. An approval with another note is another one,
// because its author decided again: in that way a person retains the approved files although the source has others. Once the source has the
// approved content, every other content of it is a change.
//
// A note that is not known is no difference. The status may have been written without one, or its CRD may drop it. Neither must turn a
// content that no person has seen into an approved one.
func (d *decision) record(a *v1alpha1.SkillApproval, r *v1alpha1.SkillRevision) *v1alpha1.ApprovedRevision {
	is := &v1alpha1.ApprovedRevision{
		RevisionName: r.Name, ContentHash: a.ContentHash, PolicyHash: a.PolicyHash, ApprovedBy: a.ApprovedBy, Account: a.Account, Note: new(a.Note),
		ObservedTime: metav1.NewTime(d.Now),
	}
	if d.Spec.Source != nil && d.Status.Source != nil {
		// Not the current content of the source: the approver could not see that.
		is.SourceHash = d.Status.Source.ContentHash
	}
	if was := d.Status.Approved; was != nil {
		same := *was
		same.SourceHash, same.ObservedTime, same.RevisionName, same.Note = is.SourceHash, is.ObservedTime, is.RevisionName, is.Note
		if same == *is && (was.Note == nil || *was.Note == a.Note) {
			is.SourceHash, is.ObservedTime = was.SourceHash, was.ObservedTime
		}
	}
	if d.source == a.ContentHash {
		is.SourceHash = d.source
	}
	return is
}

// changes names the files in which the source differs from a revision, if there are revisions of both.
func (d *decision) changes(base *v1alpha1.SkillRevision) string {
	now := d.of(d.source)
	if now == nil {
		return ""
	}
	diff := Compare(base.Spec.Files, now.Spec.Files)
	var names []string
	for _, kind := range []struct {
		word  string
		paths []string
	}{{"changed", diff.Changed}, {"added", diff.Added}, {"deleted", diff.Deleted}} {
		for _, p := range kind.paths {
			names = append(names, text.Printable(p)+" "+kind.word)
		}
	}
	if len(names) == 0 {
		return ""
	}
	if more := len(names) - maxNamedFiles; more > 0 {
		names = append(names[:maxNamedFiles], fmt.Sprintf("and %d more", more))
	}
	return text.CutBytes(" ("+strings.Join(names, ", ")+")", maxVerdict/2)
}
