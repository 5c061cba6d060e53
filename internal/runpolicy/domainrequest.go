// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/egress/allowlist"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/runpolicy/reach"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Limits of the arguments of request_domain.
const (
	// MaxDomainReason is the most characters of the reason.
	MaxDomainReason = 1024
	// MaxRequestDomainBytes bounds the arguments as the model wrote them: the manager's cache retains them.
	MaxRequestDomainBytes = 16 << 10
)

// DomainRequest is a request_domain call that a person may be asked about.
type DomainRequest struct {
	// ID that it is decided under.
	ID     string
	Domain v1alpha1.Domain
	// Attempt and Step are where it was made.
	Attempt, Step int32
	// Refused is true if its result is an error: later decisions about it do not count.
	Refused bool
	// Over is true if AllowOnce does not count any more: a call that could use it was made, the turn after it has settled, or its attempt is over.
	Over bool
}

// decision returns a person's decision about it, "" if none counts.
func (q *DomainRequest) decision(run *v1alpha1.MotorRun) v1alpha1.Decision {
	if q.Refused {
		return ""
	}
	return decisionOf(run, q.ID)
}

// decisionOf returns a person's decision about the request for a domain with that id, "" for none. A response that does not fit does not count.
func decisionOf(run *v1alpha1.MotorRun, id string) v1alpha1.Decision {
	if r := ResponseTo(run, &v1alpha1.StepAsk{ID: id, Kind: v1alpha1.InputDomainRequest}); r != nil {
		return r.Decision
	}
	return ""
}

func allows(d v1alpha1.Decision) bool {
	return d == v1alpha1.DecisionAllowOnce || d == v1alpha1.DecisionAllowRun
}

// OffersDomainRequest reports whether the run's model may ask for domains.
func OffersDomainRequest(run *v1alpha1.MotorRun) bool {
	return len(run.Spec.Domains) > 0 || slices.Contains(run.Spec.Tools, toolapi.ToolRequestDomain)
}

// domainShape is the pattern of v1alpha1.Domain. A domain that the API rejects cannot be shown to a person.
var domainShape = regexp.MustCompile(`^([*][.])?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?[.])+[a-z]([a-z0-9-]{0,61}[a-z0-9])?(:[0-9]{1,5})?$`)

const (
	minDomain = 4
	maxDomain = 261
)

// parseDomainRequest reads the arguments of a request_domain call as the model wrote them, and decides whether they are a valid request. The loop
// asks and the controller shows the question, so both parse it here. The error is for the model.
func parseDomainRequest(arguments string) (rule allowlist.Rule, reason string, err error) {
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

// DomainVerdict is the outcome of a request_domain call.
type DomainVerdict int

const (
	// DomainInvalid: the arguments are no valid request.
	DomainInvalid DomainVerdict = iota
	// DomainAsk: a person decides.
	DomainAsk
	// DomainAllowed: the sandbox may reach it already.
	DomainAllowed
	// DomainNever: no person can allow it.
	DomainNever
)

// JudgeDomainRequest reports whether a request_domain call is put to a person, and otherwise returns the message for the model. lasting is the
// result of Lasting.
func JudgeDomainRequest(arguments string, lasting, bounds []v1alpha1.Domain) (verdict DomainVerdict, message string) {
	rule, _, err := parseDomainRequest(arguments)
	switch {
	case err != nil:
		return DomainInvalid, err.Error()
	case reach.RulesOf(lasting).Covers(rule):
		return DomainAllowed, fmt.Sprintf("%s is allowed already: go on", rule)
	case !reach.LimitOf(bounds).Allows(rule):
		return DomainNever, fmt.Sprintf("%s is outside of what runs in this namespace may be allowed, so no person was asked: go on without it", rule)
	}
	has := &reach.DomainSet{Limit: reach.LimitOf(nil)}
	if has.Add(lasting...); !has.HasRoom(rule) {
		return DomainNever, fmt.Sprintf("this run has as many domains as a run can have, so no person was asked about %s: go on without it", rule)
	}
	return DomainAsk, ""
}

// DomainDecision reports whether a person's decision lets the sandbox reach the domain of a call, and returns the message for the model. granted is
// the result of Granted. A decision to allow a domain does not count if the controller did not carry it out because the bounds forbid the domain.
func DomainDecision(arguments string, d v1alpha1.Decision, granted []v1alpha1.Domain) (allowed bool, message string) {
	rule, _, err := parseDomainRequest(arguments)
	switch {
	case err != nil:
		return false, err.Error()
	case !allows(d):
		return false, fmt.Sprintf("the person said no: go on without %s, and do not ask for it again", rule)
	case !reach.RulesOf(granted).Covers(rule):
		return false, fmt.Sprintf("a person allowed %s, but runs in this namespace may not be allowed it: go on without it", rule)
	case d == v1alpha1.DecisionAllowOnce:
		return true, fmt.Sprintf("%s can be reached by the first tool call of your next answer that can use the network, and not after it; nothing in the background keeps it", rule)
	}
	return true, fmt.Sprintf("%s can be reached from now on", rule)
}

// IsInEffect reports whether the response to the open ask is usable: it exists, and a domain that it allows can be reached, or is not granted to
// the run. run.Status.Egress must be up to date.
func IsInEffect(run *v1alpha1.MotorRun, p Progress, bounds []v1alpha1.Domain) bool {
	q := p.Pending
	if !Answered(run, q) {
		return false
	}
	if q.Kind != v1alpha1.InputDomainRequest || !allows(decisionOf(run, q.ID)) || grants(run, q.Domain) {
		return true
	}
	p.InBackground = false // The programs in the background are being ended, and then the domain is granted.
	return !slices.Contains(Domains(awake(run), p, bounds), q.Domain)
}

// GrantPending reports whether a person has responded to the request for a domain of status.pendingInputs, and it is not in effect yet: the loop
// must not go on before.
func GrantPending(run *v1alpha1.MotorRun) bool {
	q := run.Status.Pending()
	return q != nil && q.Kind == v1alpha1.InputDomainRequest && !q.Answered && Answered(run, q)
}

func grants(run *v1alpha1.MotorRun, d v1alpha1.Domain) bool {
	r, err := allowlist.ParseRule(string(d))
	return err == nil && reach.RulesOf(reach.Granted(run)).Covers(r)
}

// requestText returns the question for a person. The model's text is in one line, without characters that move others about, so that it cannot pass
// for text of the operator.
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
	return fit.CutEncoded(fmt.Sprintf("The model asks to reach %s: %s", domain, fit.OneLine(plain, MaxDomainReason)), toolapi.MaxQuestion)
}
