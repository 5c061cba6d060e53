// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/egress/allowlist"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Limits of the arguments of request_domain.
const (
	// MaxDomainReason is the most characters of the reason.
	MaxDomainReason = 1024
	// MaxRequestDomainBytes is the most that the arguments may have as the model wrote them. The manager's cache keeps no
	// longer ones, so what is longer would be waited for and never be asked.
	MaxRequestDomainBytes = 16 << 10
)

// DomainRequest is a request_domain call that a person may be asked about.
type DomainRequest struct {
	// ID that it is decided under.
	ID     string
	Domain v1alpha1.Domain
	// Attempt and Step are where it was made.
	Attempt, Step int32
	// Refused says that its result is an error: whatever anybody decides about it later does not count.
	Refused bool
	// Over says that AllowOnce does not count any more: a call that could use it was made, the turn after it has settled, or its
	// attempt is over.
	Over bool
}

// decision is what a person decided about it, "" for nothing that counts.
func (q *DomainRequest) decision(run *v1alpha1.MotorRun) v1alpha1.Decision {
	if q.Refused {
		return ""
	}
	return decisionOf(run, q.ID)
}

func decisionOf(run *v1alpha1.MotorRun, id string) v1alpha1.Decision {
	for i := range run.Spec.Responses {
		if run.Spec.Responses[i].ID == id {
			return run.Spec.Responses[i].Decision
		}
	}
	return ""
}

func allows(d v1alpha1.Decision) bool {
	return d == v1alpha1.DecisionAllowOnce || d == v1alpha1.DecisionAllowRun
}

// OffersDomainRequest says whether the run's model may ask for domains.
func OffersDomainRequest(run *v1alpha1.MotorRun) bool {
	return len(run.Spec.Domains) > 0 || slices.Contains(run.Spec.Tools, toolapi.ToolRequestDomain)
}

// domainShape is the pattern of v1alpha1.Domain. What the API does not take cannot be shown to anybody.
var domainShape = regexp.MustCompile(`^([*][.])?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?[.])+[a-z]([a-z0-9-]{0,61}[a-z0-9])?(:[0-9]{1,5})?$`)

const (
	minDomain = 4
	maxDomain = 261
)

// ParseDomainRequest reads the arguments of a request_domain call as the model wrote them, and decides whether there is
// a request in them. The loop that waits for a decision and the controller that asks for it must come to the same
// result, as with toolapi.ParseAskUser: both ask here. The error is for the model.
func ParseDomainRequest(arguments string) (rule allowlist.Rule, reason string, err error) {
	if len(arguments) > MaxRequestDomainBytes {
		return rule, "", fmt.Errorf("the arguments must have at most %d bytes", MaxRequestDomainBytes)
	}
	// A map, because the names of struct fields would be matched without regard to case.
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(arguments), &fields); err != nil {
		return rule, "", fmt.Errorf("the arguments are no JSON object: %w", err)
	}
	var args toolapi.RequestDomainArgs
	into := map[string]any{"domain": &args.Domain, "reason": &args.Reason}
	for name, value := range fields {
		if into[name] == nil {
			return rule, "", errors.New(`there are no other arguments than "domain" and "reason"`)
		}
		if err := json.Unmarshal(value, into[name]); err != nil {
			return rule, "", fmt.Errorf("%q: %w", name, err)
		}
	}
	switch {
	case args.Domain == "":
		return rule, "", errors.New(`"domain" must not be empty`)
	case strings.TrimSpace(args.Reason) == "":
		return rule, "", errors.New(`"reason" must not be empty: it is what a person decides by`)
	case utf8.RuneCountInString(args.Reason) > MaxDomainReason:
		return rule, "", fmt.Errorf(`"reason" must have at most %d characters`, MaxDomainReason)
	}
	rule, err = allowlist.ParseRule(args.Domain)
	if err != nil {
		return allowlist.Rule{}, "", fmt.Errorf(`"domain": %w`, err)
	}
	if d := rule.String(); len(d) < minDomain || len(d) > maxDomain || !domainShape.MatchString(d) {
		return allowlist.Rule{}, "", fmt.Errorf(`"domain" must be a host name of %d to %d characters such as example.org`, minDomain, maxDomain)
	}
	return rule, args.Reason, nil
}

// DomainVerdict is what becomes of a request_domain call.
type DomainVerdict int

const (
	// DomainInvalid: there is no request in it.
	DomainInvalid DomainVerdict = iota
	// DomainAsk: a person decides.
	DomainAsk
	// DomainAllowed: the sandbox may reach it already.
	DomainAllowed
	// DomainNever: nobody can allow it.
	DomainNever
)

// JudgeDomainRequest says whether a request_domain call is put to a person, and otherwise what to tell the model.
// lasting is what Lasting gives.
func JudgeDomainRequest(arguments string, lasting, bounds []v1alpha1.Domain) (verdict DomainVerdict, message string) {
	rule, _, err := ParseDomainRequest(arguments)
	switch {
	case err != nil:
		return DomainInvalid, err.Error()
	case rulesOf(lasting).Covers(rule):
		return DomainAllowed, fmt.Sprintf("%s is allowed already: go on", rule)
	case !limitOf(bounds).allows(rule):
		return DomainNever, fmt.Sprintf("%s is outside of what runs in this namespace may be allowed, so nobody was asked: go on without it", rule)
	}
	has := &domainSet{limit: limitOf(nil)}
	if has.add(lasting...); !has.hasRoom(rule) {
		return DomainNever, fmt.Sprintf("this run has as many domains as a run can have, so nobody was asked about %s: go on without it", rule)
	}
	return DomainAsk, ""
}

// DomainDecision says whether a person's decision lets the sandbox reach the domain that a call asked for, and what to
// tell the model. granted is what Granted gives: a decision to allow it that the controller did not carry out, because the
// bounds do not allow it, is none.
func DomainDecision(arguments string, d v1alpha1.Decision, granted []v1alpha1.Domain) (allowed bool, message string) {
	rule, _, err := ParseDomainRequest(arguments)
	switch {
	case err != nil:
		return false, err.Error()
	case !allows(d):
		return false, fmt.Sprintf("the person said no: go on without %s, and do not ask for it again", rule)
	case !rulesOf(granted).Covers(rule):
		return false, fmt.Sprintf("a person allowed %s, but runs in this namespace may not be allowed it: go on without it", rule)
	case d == v1alpha1.DecisionAllowOnce:
		return true, fmt.Sprintf("%s can be reached by the first tool call of your next answer that can use the network, and not after it; nothing in the background keeps it", rule)
	}
	return true, fmt.Sprintf("%s can be reached from now on", rule)
}

// GrantPending says whether a person allowed the domain of status.pendingInput, and the proxy does not let the sandbox
// reach it yet: the loop must not go on before. The controller ends that in any case, see ToShow.
func GrantPending(run *v1alpha1.MotorRun) bool {
	q := run.Status.PendingInput
	return q != nil && q.Kind == v1alpha1.InputDomainRequest && allows(decisionOf(run, q.ID)) && !grants(run, q.Domain)
}

func grants(run *v1alpha1.MotorRun, d v1alpha1.Domain) bool {
	r, err := allowlist.ParseRule(string(d))
	return err == nil && rulesOf(Granted(run)).Covers(r)
}

const (
	// askAfter is how long the loop has to answer a request by itself that looks as if a person were to be asked.
	askAfter = time.Second
	// askAnyway is when a person is asked about any request that the loop did not answer: it may have seen other bounds
	// than the controller does, and would wait for ever.
	askAnyway = 10 * time.Second
)

// ToShow gives what status.pendingInput is to say of the question that the journal has open, nil for nothing, and when to
// ask again if nothing else changes, zero for never. run.Status.Egress must be up to date.
//
// A question is shown until it is answered, a request to approve a call until its outcome is recorded: the time for it may
// be over before an answer is put to use. A request for a domain is shown
//
//	not at first        because the loop answers some by itself, and stops while somebody is asked;
//	until it is granted although it was allowed, because the loop must not tell the model before the proxy knows;
//	no longer           when it was allowed and Domains leaves it out: the loop goes on and tells the model that it is not.
func ToShow(run *v1alpha1.MotorRun, p Progress, bounds []v1alpha1.Domain, now time.Time) (pending *v1alpha1.PendingInput, again time.Time) {
	q := p.Pending
	switch {
	case q == nil:
		return nil, time.Time{}
	case q.Kind == v1alpha1.InputApproval:
		return q, time.Time{}
	case Answered(run, q):
		p.InBackground = false // What is there is being ended, and then the domain is granted.
		if q.Kind == v1alpha1.InputDomainRequest && allows(decisionOf(run, q.ID)) && !grants(run, q.Domain) &&
			slices.Contains(Domains(awake(run), p, bounds), q.Domain) {
			return q, time.Time{}
		}
		return nil, time.Time{}
	case q.Kind != v1alpha1.InputDomainRequest, run.Status.PendingInput != nil && run.Status.PendingInput.ID == q.ID:
		return q, time.Time{}
	}
	if at := q.AskedAt.Add(patience(run, p, bounds)); now.Before(at) {
		return nil, at
	}
	return q, time.Time{}
}

// patience is how long to wait for the loop to answer the open request by itself.
func patience(run *v1alpha1.MotorRun, p Progress, bounds []v1alpha1.Domain) time.Duration {
	r, err := allowlist.ParseRule(string(p.Pending.Domain))
	if err != nil || !limitOf(bounds).allows(r) || rulesOf(Lasting(run, p, bounds)).Covers(r) {
		return askAnyway
	}
	return askAfter
}

// requestText is what a person is asked. What the model wrote is in one line, without characters that move others about,
// so that it cannot pass for what the operator says.
func requestText(rule allowlist.Rule, reason string) string {
	domain := rule.String()
	if !strings.Contains(domain, ":") {
		domain = fmt.Sprintf("%s:%d", domain, allowlist.DefaultPort)
	}
	plain := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, reason)
	return CutEncoded(fmt.Sprintf("The model asks to reach %s: %s", domain, oneLine(plain, MaxDomainReason)), toolapi.MaxQuestion)
}
