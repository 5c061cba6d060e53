// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
)

func call(id, command string) v1alpha1.PendingInput {
	arguments := `{"command":"` + command + `"}`
	return v1alpha1.PendingInput{ID: id, Kind: v1alpha1.InputApproval, Title: "Approve bash: " + command + "?", Action: &v1alpha1.PendingAction{
		Tool: "bash", Arguments: arguments, ArgsDigest: calls.ArgsDigest("bash", arguments),
	}}
}

// A name that was generated need not be copied. What is sent without a name was shown at the terminal before, or is named by its id or its digest.
func TestTheOnlyRunThatWaits(t *testing.T) {
	t.Parallel()
	withOptions := question("q")
	withOptions.Options = []string{"a", "b"}
	digest := calls.ArgsDigest("bash", `{"command":"ls"}`)
	const only = "run is the only run of the namespace ns that waits for this\n"
	for name, tt := range map[string]struct {
		asks        []v1alpha1.PendingInput
		typed, line string
		code        int
		says        []string
		sent        string
	}{
		"an answer is typed":         {[]v1alpha1.PendingInput{withOptions}, "2\n", "answer", verb.ExitOK, []string{only, "| Which", "answered: b"}, "q b"},
		"an option":                  {[]v1alpha1.PendingInput{withOptions}, "y\n", "answer --option 2", verb.ExitOK, []string{only, "| Which", "Send option 2: b? [y/N]"}, "q b"},
		"an option is not meant":     {[]v1alpha1.PendingInput{withOptions}, "n\n", "answer --option 2", verb.ExitFailed, []string{"nothing was sent"}, ""},
		"no terminal":                {[]v1alpha1.PendingInput{withOptions}, "", "answer --option 2", verb.ExitMisused, []string{"no terminal to ask at", "kubectl motor answer run -n ns"}, ""},
		"no terminal, by the id":     {[]v1alpha1.PendingInput{withOptions}, "", "answer --option 2 --id q", verb.ExitOK, []string{only}, "q b"},
		"no terminal, another id":    {[]v1alpha1.PendingInput{withOptions}, "", "answer --option 2 --id p", verb.ExitFailed, []string{"(question with what the flags name)"}, ""},
		"words are no run":           {[]v1alpha1.PendingInput{withOptions}, "y\n", "answer b", verb.ExitFailed, []string{"no MotorRun b in the namespace ns", "the RUN comes before it"}, ""},
		"a call":                     {[]v1alpha1.PendingInput{call("a", "ls")}, "y\n", "approve", verb.ExitOK, []string{only, "argument command:\n  | ls", "Approve this call of bash"}, "a ApproveOnce"},
		"a call, no terminal":        {[]v1alpha1.PendingInput{call("a", "ls")}, "", "approve --yes", verb.ExitMisused, []string{"no terminal to ask at"}, ""},
		"a call by its digest":       {[]v1alpha1.PendingInput{call("a", "ls")}, "", "approve --yes --digest " + digest, verb.ExitOK, []string{only}, "a ApproveOnce"},
		"another call by its digest": {[]v1alpha1.PendingInput{call("a", "rm")}, "", "approve --yes --digest " + digest, verb.ExitFailed, []string{"no run of the namespace ns waits"}, ""},
		"a call is denied":           {[]v1alpha1.PendingInput{call("a", "ls")}, "y\n", "deny", verb.ExitOK, []string{only, "argument command:\n  | ls", "Deny bash: ls? [y/N]", "Denied bash: ls\n"}, "a Deny"},
		"a denial is not meant":      {[]v1alpha1.PendingInput{call("a", "ls")}, "\n", "deny", verb.ExitFailed, []string{"nothing was sent"}, ""},
		"a denial, no terminal":      {[]v1alpha1.PendingInput{call("a", "ls")}, "", "deny", verb.ExitMisused, []string{"no terminal to ask at", "kubectl motor deny run -n ns"}, ""},
		"a denial by the digest":     {[]v1alpha1.PendingInput{call("a", "ls")}, "", "deny --digest " + digest, verb.ExitOK, []string{"Denied bash: ls"}, "a Deny"},
		"a domain":                   {[]v1alpha1.PendingInput{{ID: "d", Kind: v1alpha1.InputDomainRequest, Domain: "example.org"}}, "y\n", "allow --run", verb.ExitOK, []string{"Let run reach example.org? [y/N]"}, "d AllowRun"},
		"a domain once":              {[]v1alpha1.PendingInput{{ID: "d", Kind: v1alpha1.InputDomainRequest, Domain: "example.org"}}, "y\n", "allow", verb.ExitOK, []string{"Allow example.org once? [y/N]"}, "d AllowOnce"},
		"an unknown outcome":         {[]v1alpha1.PendingInput{{ID: "u", Kind: v1alpha1.InputOutcomeUnknown}}, "skip\n", "settle", verb.ExitOK, []string{only}, "u Skip"},
		"a retry":                    {[]v1alpha1.PendingInput{{ID: "r", Kind: v1alpha1.InputRetry, Question: "It failed."}}, "y\n", "retry", verb.ExitOK, []string{"| It failed.", "Try again? [y/N]"}, "r Retry"},
		"a retry is not meant":       {[]v1alpha1.PendingInput{{ID: "r", Kind: v1alpha1.InputRetry}}, "\n", "retry", verb.ExitFailed, []string{"nothing was sent"}, ""},
		"the end":                    {[]v1alpha1.PendingInput{{ID: "r", Kind: v1alpha1.InputRetry, Question: "It failed."}}, "y\n", "stop", verb.ExitOK, []string{"| It failed.", "Stop run? [y/N]"}, "r Stop"},
		"a budget":                   {[]v1alpha1.PendingInput{{ID: "b", Kind: v1alpha1.InputBudgetExhausted}}, "n\n", "raise --tokens 5", verb.ExitFailed, []string{"Raise it by 5 tokens? [y/N]"}, ""},
		"another kind":               {[]v1alpha1.PendingInput{question("q")}, "y\n", "stop", verb.ExitFailed, []string{"waits for an answer (retry or budget)"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, tt.asks...)
			// Neither another namespace nor what waits for something else counts.
			r.also("other", "elsewhere", tt.asks...)
			r.also("ns", "works")
			r.typed = tt.typed
			r.want(tt.code, tt.line, tt.says...)
			if got := r.responses(); got != tt.sent {
				t.Errorf("sent is %q, want %q", got, tt.sent)
			}
		})
	}
}

func TestSeveralRunsWait(t *testing.T) {
	t.Parallel()
	r := newRig(t, call("a", "ls"))
	r.also("ns", "second", call("b", "rm"), question("q"))
	for _, typed := range []string{"", "y\n"} {
		r.typed = typed
		r.want(verb.ExitMisused, "deny", "run  approval  Approve bash: ls?\n  kubectl motor deny run -n ns\n",
			"second  approval  Approve bash: rm?\n  kubectl motor deny second -n ns --id b\n", "several runs wait: give the name of the RUN")
	}
	if got := r.responses(); got != "" {
		t.Errorf("sent is %q", got)
	}
	r.want(verb.ExitOK, "approve --yes --digest "+calls.ArgsDigest("bash", `{"command":"ls"}`), "run is the only run")
	if got := r.responses(); got != "a ApproveOnce" {
		t.Errorf("sent is %q", got)
	}
}

// What waits for other people is not taken for theirs.
func TestTheOnlyRunIsOneThatThePersonMayAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, call("a", "ls"))
	r.typed, r.denied["approve"] = "y\n", true
	r.want(verb.ExitFailed, "approve", "waits for you (approval), and 1 for people with other rights: have the ClusterRole motorcortex-approver bound to you")
	r.WithWatch = interceptor.NewClient(r.WithWatch, interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "motorruns"}, "", errors.New("no"))
	}})
	r.want(verb.ExitFailed, "approve", "give the name of the RUN, or have the ClusterRole motorcortex-viewer bound to you in the namespace ns")
	if got := r.responses(); got != "" {
		t.Errorf("sent is %q", got)
	}
}
