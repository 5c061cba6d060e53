// SPDX-License-Identifier: Apache-2.0

package task

import "testing"

func TestThePersonReplies(t *testing.T) {
	t.Parallel()
	p := Persona{Rules: []Rule{
		{Match: "currency|euro", Answer: "EUR"},
		{Kind: KindApproval, Match: `migrate\.py`, Decision: Approve},
		{Kind: KindDomain, Match: `rates\.example`, Decision: Deny, Reason: "not from here"},
	}}
	if found := p.compile(); len(found) > 0 {
		t.Fatal(found)
	}
	for name, tt := range map[string]struct{ asked, want Question }{
		"a rule":               {Question{Kind: KindQuestion, Text: "Which\nCurrency?"}, Question{Answer: "EUR"}},
		"no rule":              {Question{Kind: KindQuestion, Text: "Why?"}, Question{Answer: DefaultAnswer}},
		"an approval":          {Question{Kind: KindApproval, Text: "bash python3 migrate.py"}, Question{Decision: Approve}},
		"another approval":     {Question{Kind: KindApproval, Text: "bash rm -rf currency"}, Question{Decision: Deny}},
		"a domain":             {Question{Kind: KindDomain, Text: "rates.example"}, Question{Decision: Deny, Reason: "not from here"}},
		"another domain":       {Question{Kind: KindDomain, Text: "example.org"}, Question{Decision: Deny}},
		"an unknown outcome":   {Question{Kind: KindUnknown, Text: "bash"}, Question{Decision: "Retry"}},
		"a kind of the future": {Question{Kind: "Riddle", Text: "?"}, Question{Answer: DefaultAnswer}},
	} {
		tt.want.Kind, tt.want.Text = tt.asked.Kind, tt.asked.Text
		if got := p.Reply(tt.asked); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
	if got := (Persona{Default: " No. "}).Reply(Question{Kind: KindQuestion}); got.Answer != "No." {
		t.Errorf("%+v", got)
	}
}
