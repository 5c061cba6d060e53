// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/runpolicy/observed"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Outage is a period in which the model is unavailable. It begins with a step of its own in the journal. It is over when the step that waited for
// the model exists, or the attempt has ended.
type Outage struct {
	v1alpha1.ModelOutage
	// Since is when it was recorded.
	Since time.Time
	// Observed are the times in which a manager led: no other time counts for Until.
	Observed observed.Time
	attempt  int32
	index    int32
}

// outageGrace is how long the attempt's worker may take to give up after the time for an outage is over: its last try may be on its way.
const outageGrace = 2 * time.Minute

// OutageOf reads the step of an outage: the values in the status are the later ones.
func OutageOf(s *v1alpha1.MotorStep) *Outage {
	if s.Spec.Outage == nil {
		return nil
	}
	o := &Outage{ModelOutage: *cmp.Or(s.Status.Outage, s.Spec.Outage), Since: s.CreationTimestamp.Time, attempt: s.Spec.Attempt, index: s.Spec.Index}
	if later := s.Status.Outage; later == nil || later.Ask == nil {
		o.DeadlineSeconds = s.Spec.Outage.DeadlineSeconds
	}
	return o
}

// Until returns when the attempt is given up. The time in which the run was suspended meanwhile does not count: the model was not called in it.
func (o *Outage) Until(run *v1alpha1.MotorRun) time.Time {
	since := o.Since
	if resumed := resumedAt(run); resumed.After(since) {
		since = resumed
	}
	return o.Observed.Extend(since, since.Add(time.Duration(o.DeadlineSeconds)*time.Second))
}

func (p *Progress) addOutage(run *v1alpha1.MotorRun, s *v1alpha1.MotorStep) {
	p.closeOutage(s.CreationTimestamp.Time)
	addUsage(&p.Usage, s.Status.FailedUsage)
	p.addCosts(s.Spec.Attempt, s.Status.FailedUsage)
	if s.Spec.Attempt == p.Attempt {
		addUsage(&p.AttemptUsage, s.Status.FailedUsage)
	}
	p.Outage = OutageOf(s)
	if s.Spec.Attempt != p.Attempt {
		p.giveUpOutage(run)
	}
}

// endOutage ends the outage that the step waited for.
func (p *Progress) endOutage(s *v1alpha1.MotorStep) {
	if o := p.Outage; o != nil && o.attempt == s.Spec.Attempt && s.Spec.Index >= o.index {
		p.closeOutage(s.CreationTimestamp.Time)
	}
}

// giveUpOutage ends the outage that an attempt ended in.
func (p *Progress) giveUpOutage(run *v1alpha1.MotorRun) {
	o := p.Outage
	if o == nil {
		return
	}
	if a := run.Status.AttemptNumber(o.attempt); a != nil && a.CompletionTime != nil {
		p.closeOutage(a.CompletionTime.Time)
	}
}

func (p *Progress) closeOutage(at time.Time) {
	if p.Outage != nil {
		p.Away += max(0, at.Sub(p.Outage.Since))
		p.Outage = nil
	}
}

// outageTime returns the time that outages of the model add to the run's time. An open outage counts as if it took all the time that it may: the
// run must not time out while its worker waits.
func outageTime(run *v1alpha1.MotorRun, p Progress) time.Duration {
	if p.Outage == nil {
		return p.Away
	}
	return p.Away + max(0, p.Outage.Until(run).Add(outageGrace).Sub(p.Outage.Since))
}

// BudgetAsk returns the input that a run needs which has reached a bound that a person can raise, nil if it waits for nothing of that kind.
func BudgetAsk(run *v1alpha1.MotorRun, p Progress) *v1alpha1.PendingInput {
	o := p.Outage
	if o == nil || o.Ask == nil {
		return nil
	}
	proposed := raiseText(o.Ask.RaiseBy)
	return &v1alpha1.PendingInput{
		ID: o.Ask.ID, Kind: v1alpha1.InputBudgetExhausted, Title: fit.Title("Budget used up: raise it by " + proposed + "?"),
		Question: fit.CutEncoded(fmt.Sprintf("%s Raise the bound, by %s or by another amount, or stop the run. It goes on where it is.", o.Message, proposed), toolapi.MaxQuestion),
		Options:  []string{string(v1alpha1.DecisionRaise), string(v1alpha1.DecisionStop)},
		RaiseBy:  new(o.Ask.RaiseBy), AskTime: metav1.NewTime(o.Since), ExpirationTime: metav1.NewTime(o.Until(run)),
	}
}

// AskedRaises returns the ids under which the run asked to raise a bound. The step of an outage has the first and the last of its own.
func AskedRaises(steps []v1alpha1.MotorStep) []string {
	var ids []string
	for i := range steps {
		for _, o := range []*v1alpha1.ModelOutage{steps[i].Spec.Outage, steps[i].Status.Outage} {
			if o != nil && o.Ask != nil {
				ids = append(ids, o.Ask.ID)
			}
		}
	}
	return ids
}

// raiseText is an amount for a person. The question before it names the currency.
func raiseText(a v1alpha1.BudgetAmount) string {
	var parts []string
	if a.Cost != nil {
		parts = append(parts, string(*a.Cost))
	}
	if a.Tokens != nil {
		parts = append(parts, fmt.Sprintf("%d tokens", *a.Tokens))
	}
	return strings.Join(parts, " and ")
}

// budgetStopped ends a run that a person stopped at a bound of its budget.
func budgetStopped(o Observation, _ time.Time) *End {
	p := BudgetAsk(o.Run, o.Progress)
	if p == nil {
		return nil
	}
	r := ResponseTo(o.Run, &v1alpha1.StepAsk{ID: p.ID, Kind: p.Kind})
	if r == nil || r.Decision != v1alpha1.DecisionStop {
		return nil
	}
	return failed(o.failure(v1alpha1.CategoryBudgetExhausted, v1alpha1.ReasonBudgetExhausted, o.Progress.Outage.Message+" "+stoppedBy(r, "a higher bound"), false))
}

// RetriesAlone reports whether the run looks by itself whether it can go on, whether or not a person answers: there may be room in its budget again.
func RetriesAlone(p *v1alpha1.PendingInput) bool { return p.Kind == v1alpha1.InputBudgetExhausted }
