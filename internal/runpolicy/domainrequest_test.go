// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/runpolicy/reach"
)

func TestParseDomainRequest(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("漢", MaxDomainReason)
	tests := map[string]struct{ arguments, rule, reason, err string }{
		"plain":             {`{"domain":"example.org","reason":"why"}`, "example.org", "why", ""},
		"the default port":  {`{"domain":"example.org:443","reason":"why"}`, "example.org", "why", ""},
		"wildcard and port": {`{"domain":"*.example.org:8443","reason":"why"}`, "*.example.org:8443", "why", ""},
		"the longest":       {fmt.Sprintf(`{"domain":"t.co","reason":%q}`, long), "t.co", long, ""},
		"reason too long":   {fmt.Sprintf(`{"domain":"t.co","reason":%q}`, long+"x"), "", "", "at most 1024 characters"},
		"no reason":         {`{"domain":"example.org"}`, "", "", `"reason" must not be empty`},
		"blank reason":      {`{"domain":"example.org","reason":" \n"}`, "", "", `"reason" must not be empty`},
		"a null":            {`{"domain":null,"reason":"why"}`, "", "", `"domain" must not be empty`},
		"another field":     {`{"domain":"example.org","reason":"why","port":1}`, "", "", "no other arguments"},
		"another case":      {`{"Domain":"example.org","reason":"why"}`, "", "", "no other arguments"},
		"a list":            {`{"domain":["example.org"],"reason":"why"}`, "", "", `"domain"`},
		"no object":         {`"example.org"`, "", "", "no JSON object"},
		"nothing":           {``, "", "", "no JSON object"},
		"too large":         {`{"domain":"example.org","reason":"why"` + strings.Repeat(" ", MaxRequestDomainBytes) + `}`, "", "", "bytes"},
		"a public suffix":   {`{"domain":"*.co.uk","reason":"why"}`, "", "", `"domain": domain "*.co.uk"`},
		"a URL":             {`{"domain":"https://example.org/","reason":"why"}`, "", "", `"domain"`},
		"an address":        {`{"domain":"10.0.0.1","reason":"why"}`, "", "", `"domain"`},
		"a zero byte":       {`{"domain":"example.org\u0000","reason":"why"}`, "", "", `"domain"`},
		"too short to show": {`{"domain":"a.b","reason":"why"}`, "", "", `"domain" must be a host name of 4 to 261`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule, reason, err := parseDomainRequest(tt.arguments)
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("error %v, want %q", err, tt.err)
			}
			if rule.String() != tt.rule || reason != tt.reason {
				t.Errorf("got %q, %q", rule, reason)
			}
		})
	}
}

// FuzzParseDomainRequest: what a person is asked can be shown, whatever the model wrote.
func FuzzParseDomainRequest(f *testing.F) {
	for _, s := range []string{`{"domain":"example.org","reason":"why"}`, `{"domain":"*.xn--bcher-kva.example:1","reason":"\u202e\u0000"}`, `{}`, `[1]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, arguments string) {
		if _, _, err := parseDomainRequest(arguments); err != nil {
			return
		}
		p := ReadJournal(mayAsk(), []v1alpha1.MotorStep{testStep(1, 1, call("request_domain", arguments), asked(v1alpha1.InputDomainRequest, 10*sec))})
		if q := p.Pending; q != nil && (!domainShape.MatchString(string(q.Domain)) || fit.EncodedSize(q.Question) > 4096 || strings.ContainsAny(q.Question, "\n\r\x00")) {
			t.Fatalf("pending %+v", q)
		}
	})
}

func TestJudgeDomainRequest(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		domain          string
		lasting, bounds domains
		want            DomainVerdict
	}{
		"new":                      {"example.org", nil, nil, DomainAsk},
		"within the bounds":        {"a.example.org", domains{"b.example.org"}, domains{"*.example.org"}, DomainAsk},
		"outside of the bounds":    {"example.org", nil, domains{"*.example.org"}, DomainNever},
		"nothing may be allowed":   {"example.org", nil, domains{}, DomainNever},
		"allowed":                  {"example.org:443", domains{"example.org"}, nil, DomainAllowed},
		"allowed by a wildcard":    {"a.b.example.org", domains{"*.example.org"}, nil, DomainAllowed},
		"another port":             {"example.org:80", domains{"example.org"}, nil, DomainAsk},
		"wider than what there is": {"*.example.org", domains{"a.example.org"}, nil, DomainAsk},
		"no room":                  {"example.org", longDomains(64, 61), nil, DomainNever},
		"none":                     {"localhost", nil, nil, DomainInvalid},
	}
	for name, tt := range tests {
		arguments := fmt.Sprintf(`{"domain":%q,"reason":"why"}`, tt.domain)
		got, message := JudgeDomainRequest(arguments, tt.lasting, tt.bounds)
		if got != tt.want || (message == "") != (got == DomainAsk) {
			t.Errorf("%s: %d %q, want %d", name, got, message, tt.want)
		}
	}
}

func TestDomainDecision(t *testing.T) {
	t.Parallel()
	granted := domains{"*.example.org"}
	tests := map[string]struct {
		domain   string
		decision v1alpha1.Decision
		granted  domains
		allowed  bool
		says     string
	}{
		"always":        {"a.example.org", v1alpha1.DecisionAllowRun, granted, true, "from now on"},
		"once":          {"a.example.org", v1alpha1.DecisionAllowOnce, granted, true, "your next answer"},
		"deny":          {"a.example.org", v1alpha1.DecisionDeny, granted, false, "the person said no: go on without a.example.org, and do not ask for it again"},
		"another word":  {"a.example.org", "allow", granted, false, "the person said no: go on without a.example.org, and do not ask for it again"},
		"not granted":   {"example.org", v1alpha1.DecisionAllowRun, granted, false, "may not be allowed it"},
		"no way at all": {"example.org", v1alpha1.DecisionAllowOnce, reach.Granted(testRun()), false, "may not be allowed it"},
		"no request":    {"org", v1alpha1.DecisionAllowRun, granted, false, "domain"},
	}
	for name, tt := range tests {
		allowed, message := DomainDecision(fmt.Sprintf(`{"domain":%q,"reason":"why"}`, tt.domain), tt.decision, tt.granted)
		if allowed != tt.allowed || !strings.Contains(message, tt.says) {
			t.Errorf("%s: %t %q", name, allowed, message)
		}
	}
}

func pendingRequest(id, domain, title string, asked time.Duration) *v1alpha1.PendingInput {
	return &v1alpha1.PendingInput{
		ID: id, Kind: v1alpha1.InputDomainRequest, Title: title, Question: "The model asks to reach " + domain + ":443: the task needs it",
		Options: []string{"AllowOnce", "AllowRun", "Deny"}, Domain: v1alpha1.Domain(domain), StepName: "run-a01-s0001",
		AskTime: metav1.NewTime(after(asked)), ExpirationTime: metav1.NewTime(after(asked + 30*sec)), OnTimeout: v1alpha1.OnTimeoutFail,
	}
}

func TestDomainQuestions(t *testing.T) {
	t.Parallel()
	const q1, q2 = "a1-s1-c0-00abc001", "a1-s1-c1-00abc001"
	for name, tt := range map[string]struct {
		step    v1alpha1.MotorStep
		pending *v1alpha1.PendingInput
		asked   []string
		waited  time.Duration
	}{
		"a request":                {testStep(1, 1, requesting("example.org", 10*sec)), pendingRequest(q1, "example.org", "Reach example.org?", 10*sec), []string{q1}, 0},
		"before a person is asked": {testStep(1, 1, request("example.org")), nil, nil, 0},
		"a second one": {
			testStep(1, 1, requesting("a.example.org", 10*sec), closed("Approved", 19*sec), requesting("example.org", 19*sec)),
			pendingRequest(q2, "example.org", "Reach example.org?", 19*sec), []string{q1, q2}, 9 * sec,
		},
		"one about which no person was asked": {testStep(1, 1, answered("a.example.org", "domain_not_allowed")), nil, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := ReadJournal(mayAsk(), []v1alpha1.MotorStep{tt.step})
			if diff := cmp.Diff(tt.pending, p.Pending); diff != "" {
				t.Errorf("pending (-want +got):\n%s", diff)
			}
			if got := slices.Sorted(maps.Keys(p.Asked)); !slices.Equal(got, tt.asked) || p.Waited != tt.waited {
				t.Errorf("asked %v, want %v; waited %s", got, tt.asked, p.Waited)
			}
		})
	}
}

// The reason is the model's: no part of it may look like text of the operator.
func TestReasonIsOneLine(t *testing.T) {
	t.Parallel()
	reason, err := json.Marshal("because\nThe administrator has agreed. \u202egro.elpmaxe\u202c\x1b[2K")
	if err != nil {
		t.Fatal(err)
	}
	p := ReadJournal(mayAsk(), []v1alpha1.MotorStep{testStep(1, 1, call("request_domain", `{"domain":"example.org:8443","reason":`+string(reason)+`}`), asked(v1alpha1.InputDomainRequest, 10*sec))})
	const want = "The model asks to reach example.org:8443: because The administrator has agreed. gro.elpmaxe [2K"
	if p.Pending.Question != want || p.Pending.Title != "Reach example.org:8443?" {
		t.Errorf("%q: %q", p.Pending.Title, p.Pending.Question)
	}
}

func TestResponsesFitTheirAsks(t *testing.T) {
	t.Parallel()
	const question, domain, outcome = "a1-s1-c0-00abc001", "a1-s1-c1-00abc001", "a1-s1-c2-00abc001"
	steps := []v1alpha1.MotorStep{testStep(1, 1,
		done("ask_user", true, 1, "old"), answered("example.org", ""), call("bash", "{}"), unknown("a1-s1-c2", "a1-s1-c2", "Person", 40*sec))}
	run := mayAsk()
	for _, id := range []string{question, domain, outcome} {
		run.Spec.Responses = append(run.Spec.Responses, v1alpha1.Response{ID: id, Answer: "retry"})
	}
	decided := mayAsk()
	for _, id := range []string{question, domain, outcome} {
		decide(decided, id, v1alpha1.DecisionDeny)
	}
	if diff := cmp.Diff([]string{`spec.responses[1].id "` + domain + `" that takes an answer`, `spec.responses[2].id "` + outcome + `" that takes an answer`}, UnknownResponses(run, ReadJournal(run, steps))); diff != "" {
		t.Errorf("unknown answers (-want +got):\n%s", diff)
	}
	if got := UnknownResponses(decided, ReadJournal(decided, steps)); len(got) != 2 || !strings.HasSuffix(got[0], "that takes a decision") {
		t.Errorf("unknown decisions %q", got)
	}
	for kind, want := range map[v1alpha1.InputKind]bool{
		v1alpha1.InputQuestion: true, v1alpha1.InputOutcomeUnknown: false, v1alpha1.InputDomainRequest: false, v1alpha1.InputRetry: false,
	} {
		if got := Answered(run, &v1alpha1.PendingInput{ID: question, Kind: kind}); got != want {
			t.Errorf("an answer answers a %s: %t", kind, got)
		}
		if got := Answered(decided, &v1alpha1.PendingInput{ID: question, Kind: kind}); got != (kind == v1alpha1.InputDomainRequest) {
			t.Errorf("a decision answers a %s: %t", kind, got)
		}
	}
}

// A response counts when it is usable: a domain that it allows can be reached, or is not granted to the run.
func TestIsInEffect(t *testing.T) {
	t.Parallel()
	const id = "a1-s1-c0-00abc001"
	once, always := v1alpha1.DecisionAllowOnce, v1alpha1.DecisionAllowRun
	for name, tt := range map[string]struct {
		decision        v1alpha1.Decision
		bounds, granted domains
		background      bool
		want            bool
	}{
		"no response":                      {},
		"denied":                           {decision: v1alpha1.DecisionDeny, want: true},
		"allowed":                          {decision: always},
		"allowed once":                     {decision: once},
		"allowed once, with a program":     {decision: once, background: true},
		"allowed and granted":              {decision: always, granted: domains{"*.example.net", "example.org"}, want: true},
		"allowed and not within bounds":    {decision: always, bounds: domains{}, want: true},
		"allowed once and granted already": {decision: once, granted: domains{"example.org"}, want: true},
	} {
		run := mayAsk()
		run.Spec.Domains = domains{"example.net"}
		if tt.granted != nil {
			run.Status.Egress = &v1alpha1.EgressStatus{Domains: tt.granted}
		}
		if tt.decision != "" {
			decide(run, id, tt.decision)
		}
		p := ReadJournal(run, []v1alpha1.MotorStep{testStep(1, 1, requesting("example.org", 10*sec))})
		p.InBackground = tt.background
		run.Status.PendingInputs = v1alpha1.PendingList(p.Pending)
		if got := IsInEffect(run, p, tt.bounds); got != tt.want {
			t.Errorf("%s: in effect: %t", name, got)
		}
		run.Status.Pending().Answered = tt.want
		if got := GrantPending(run); got != (tt.decision != "" && !tt.want) {
			t.Errorf("%s: the grant is pending: %t", name, got)
		}
		if r := UsableResponse(run, &v1alpha1.StepAsk{ID: id, Kind: v1alpha1.InputDomainRequest}); (r != nil) != tt.want {
			t.Errorf("%s: usable is %+v", name, r)
		}
		// What is in effect for the ask that is shown says nothing of another one.
		const other = "a1-s2-c0-00abc002"
		decide(run, other, always)
		if r := UsableResponse(run, &v1alpha1.StepAsk{ID: other, Kind: v1alpha1.InputDomainRequest}); r != nil {
			t.Errorf("%s: usable for another ask is %+v", name, r)
		}
	}
}

// However the bounds change between two looks, no request is left that neither the loop goes on with nor a person sees.
func TestNoRequestStandsStill(t *testing.T) {
	t.Parallel()
	const id = "a1-s1-c0-00abc001"
	steps := []v1alpha1.MotorStep{testStep(1, 1, requesting("example.org", 10*sec))}
	views := []domains{nil, {}, {"example.org"}}
	for _, d := range []v1alpha1.Decision{"", v1alpha1.DecisionAllowOnce, v1alpha1.DecisionAllowRun, v1alpha1.DecisionDeny} {
		for i := range len(views) * len(views) {
			run := mayAsk()
			if d != "" {
				decide(run, id, d)
			}
			for _, bounds := range []domains{views[i%len(views)], views[i/len(views)]} {
				p := ReadJournal(run, steps)
				// The controller grants what it finds in effect, then shows what is open.
				run.Status.Egress = &v1alpha1.EgressStatus{Domains: Domains(run, p, bounds)}
				run.Status.PendingInputs = v1alpha1.PendingList(p.Pending)
				run.Status.Pending().Answered = IsInEffect(run, p, bounds)
			}
			if p := run.Status.Pending(); p.Answered != (d != "") || GrantPending(run) {
				t.Errorf("decision %q, views %d: pending %+v, domains %v", d, i, p, run.Status.Egress.Domains)
			}
			allowed, _ := DomainDecision(steps[0].Spec.ToolCalls[0].Arguments, d, reach.Granted(run))
			if allowed != (len(run.Status.Egress.Domains) > 0) {
				t.Errorf("decision %q, views %d: the model is told %t, and may reach %v", d, i, allowed, run.Status.Egress.Domains)
			}
		}
	}
}
