// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/text"
)

const (
	mayRespond = "get,list,watch,patch,respond motorruns"
	mayApprove = "get,list,watch,patch,approve motorruns"
	mayRead    = "get,list,watch motorsteps"
)

// From question to answered: one command, nothing copied.
func TestAQuestionIsAnsweredWithOneCommand(t *testing.T) {
	r := askingRig(t)
	r.asked(1, `{"question":"Which\nof them?","options":["$(reboot)","b"],"default":"b"}`)
	dana := r.sits("dana@"+r.ns, mayRespond)
	dana.want(0, "inbox", "run   question    Which of them?", "kubectl motor answer run")
	dana.want(4, "answer run", "Which\n  | of them?", "1:\n  | $(reboot)", "2:\n  | b", "the model would choose:\n  | b", "the TEXT of the answer is missing")
	dana.want(4, "answer run --option 3", "the question has 2 options")
	dana.want(4, "answer run …", "write your own words")
	dana.want(1, "answer runs", "no MotorRun runs in the namespace "+r.ns)
	dana.want(1, "approve run", "it waits for something else (question)", "kubectl motor answer run")
	dana.want(1, "answer run yes --id other", "does not ask under the id other")
	dana.want(0, "answer run --option 2", "Which\n  | of them?", "motorrun/run answered: b")
	want := v1alpha1.Response{Answer: "b", RespondedBy: "dana@" + r.ns}
	if diff := cmp.Diff(want, r.response(), cmpopts.IgnoreFields(v1alpha1.Response{}, "ID")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// The operator has not looked at it yet.
	dana.want(0, "inbox", "Nothing waits for you.")
	dana.want(1, "answer", "no run of the namespace "+r.ns+" waits for an answer (question)")
	dana.want(1, "answer run c", "it was answered already, by dana@"+r.ns+`: "b"`)
	r.step()
	r.want(v1alpha1.PhaseRunning, "AwaitingInput False Answered")
	dana.want(1, "answer run c", "it was answered already")
	r.used("b")
	r.step()
	dana.want(1, "answer run c", "the run asks nothing now")
	r.said(turnAt(2, "It is b."))
	r.step()
	dana.want(1, "answer run c", "it has ended (Completed)", "The last answer was given by dana@"+r.ns+`: "b"`)
}

func TestAnAnswerIsTypedAtATerminal(t *testing.T) {
	for typed, want := range map[string]string{"2\n": "b", "something else\n": "something else", "7\n1\n": "a"} {
		t.Run(text.Line(typed, 20), func(t *testing.T) {
			r := askingRig(t)
			r.asked(1, `{"question":"Which?","options":["a","b"],"default":"a"}`)
			dana := r.sits("dana@"+r.ns, mayRespond)
			dana.types("").want(1, "answer run", "nothing was answered")
			// Who wants to leave must not send what the model would choose.
			dana.types("\n").want(4, "answer run", "the answer is empty")
			dana.want(4, "answer --option 1", "there is no terminal to ask at", "kubectl motor answer run -n "+r.ns)
			dana.types(typed).want(0, "answer", "run is the only run of the namespace "+r.ns, "  | Which?", "Answer (a number chooses): ", "motorrun/run answered: "+want)
			if got := r.response().Answer; got != want {
				t.Errorf("the answer is %q, want %q", got, want)
			}
		})
	}
}

// One of two people who read the same question is told that the other was first, and by whom.
func TestTwoPeopleAnswer(t *testing.T) {
	r := askingRig(t)
	r.asked(1, `{"question":"Which?"}`)
	dana, eve := r.sits("dana@"+r.ns, mayRespond), r.sits("eve@"+r.ns, mayRespond)
	dana.typed = &meanwhile{line: strings.NewReader("mine\n"), do: func() { eve.want(0, "answer run hers") }}
	dana.want(1, "answer run", r.ns+"/run did not take it: it was answered a moment ago, by eve@"+r.ns+`: "hers"`)
	if list := r.run().Spec.Responses; len(list) != 1 || list[0].Answer != "hers" {
		t.Errorf("responses %+v", list)
	}
}

// A run of the same name that was created while a person thought is not answered.
func TestAnotherRunOfTheSameName(t *testing.T) {
	r := askingRig(t)
	r.asked(1, `{"question":"Which?"}`)
	dana := r.sits("dana@"+r.ns, mayRespond)
	dana.typed = &meanwhile{line: strings.NewReader("mine\n"), do: func() {
		must(t, mergePatch(r.ctx, r.run(), `{"metadata":{"finalizers":null}}`))
		must(t, admin.Delete(r.ctx, r.run()))
		createRun(r.ctx, t, r.ns)
	}}
	dana.want(1, "answer run", "the run that asked is gone")
}

func TestARefusalSaysWhoMayAnswer(t *testing.T) {
	r := askingRig(t)
	r.asked(1, `{"question":"Which?"}`)
	reader, writer := r.sits("rita@"+r.ns, "get,list motorruns"), r.sits("will@"+r.ns, "get,list,patch,update motorruns")
	reader.want(0, "inbox", "Nothing waits for you.", "note: 1 more for people with other rights")
	reader.want(0, "inbox --all", "kubectl motor answer run")
	reader.want(1, "answer run x", r.ns+"/run did not take it", "motorcortex-responder")
	writer.want(1, "answer run x", "will@"+r.ns+" may not answer this run", "ClusterRole motorcortex-responder")
}

func TestACallIsApprovedAsItWasShown(t *testing.T) {
	r := askingRig(t, needsApproval)
	r.said(turnAt(1, "", "bash:"+gitPush, "bash:"+gitPush))
	p := r.asksApproval(0)
	anna := r.sits("anna@"+r.ns, mayApprove)
	anna.want(0, "inbox", "run   approval    bash: git push origin main", "kubectl motor approve run")
	anna.want(4, "approve run", "argument command:\n  | git push origin main", "digest: "+p.Action.ArgsDigest, "add --yes --digest "+p.Action.ArgsDigest)
	anna.want(1, "approve run --yes --digest sha256:other", "nothing was approved")
	anna.types("n\n").want(1, "approve run", "Approve this call of bash (one line, 34 bytes)? [y/N]", "nothing was sent")
	anna.types("\n").want(1, "approve run", "nothing was sent")
	if list := r.run().Spec.Responses; len(list) != 0 {
		t.Fatalf("responses %+v", list)
	}
	anna.types("y\n").want(0, "approve run", "motorrun/run approved")
	want := v1alpha1.Response{ID: p.ID, Decision: v1alpha1.DecisionApproveOnce, Digest: p.Action.ArgsDigest, RespondedBy: "anna@" + r.ns}
	if diff := cmp.Diff(want, r.response()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r.step()
	r.want(v1alpha1.PhaseRunning, "AwaitingInput False Answered")
	r.closed(turn.AskApproved, "", okResult("pushed", 1))

	again := r.asksApproval(1)
	anna.types("yes\n").want(0, "approve run --run", `every call of bash by spec.approval.bash.commands "git push *"?`, "motorrun/run approved")
	if got := r.response(); got.ID != again.ID || got.Decision != v1alpha1.DecisionApproveRun {
		t.Errorf("response %+v", got)
	}
}

// The status shows the beginning and the end of a long call. Who approves sees all of it. Who cannot, cannot approve it.
func TestALongCallIsShownWhole(t *testing.T) {
	r := askingRig(t, needsApproval)
	long := `{"command":"git push origin main ` + strings.Repeat("-q ", 2000) + `#THE-MIDDLE ` + strings.Repeat("-v ", 2000) + `"}`
	r.said(turnAt(1, "", "bash:"+long))
	p := r.asksApproval(0)
	if strings.Contains(p.Action.Arguments, "THE-MIDDLE") {
		t.Fatal("the status has the call whole")
	}
	anna, blind := r.sits("anna@"+r.ns, mayApprove, mayRead), r.sits("bob@"+r.ns, mayApprove)
	anna.want(4, "approve run", "#THE-MIDDLE")
	blind.want(1, "approve run", "nothing was approved", "motorcortex-viewer")
	anna.want(0, "approve run --yes --digest "+p.Action.ArgsDigest, "#THE-MIDDLE", "motorrun/run approved")
}

func TestACallIsDenied(t *testing.T) {
	r := askingRig(t, needsApproval)
	r.said(turnAt(1, "", "bash:"+gitPush))
	p := r.asksApproval(0)
	anna, dana := r.sits("anna@"+r.ns, mayApprove), r.sits("dana@"+r.ns, mayRespond)
	dana.want(0, "inbox", "Nothing waits for you.", "1 more")
	dana.want(1, "deny run", "dana@"+r.ns+" may not", "motorcortex-approver")
	dana.want(1, "deny", "1 for people with other rights: have the ClusterRole motorcortex-approver bound to you")
	dana.want(1, "approve run --yes", "you may not approve calls of run: have the ClusterRole motorcortex-approver bound to you")
	anna.want(0, "deny run --reason not-today", "Denied bash: git push origin main\n", "motorrun/run denied")
	want := v1alpha1.Response{ID: p.ID, Decision: v1alpha1.DecisionDeny, Reason: "not-today", Digest: p.Action.ArgsDigest, RespondedBy: "anna@" + r.ns}
	if diff := cmp.Diff(want, r.response()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestADomainIsAllowed(t *testing.T) {
	for line, want := range map[string]v1alpha1.Decision{"allow run --once": "AllowOnce", "allow run --run": "AllowRun", "allow run": "AllowOnce", "deny run": "Deny"} {
		t.Run(line, func(t *testing.T) {
			r := askingRig(t, func(run *v1alpha1.MotorRun) { run.Spec.Tools = append(run.Spec.Tools, "request_domain") })
			r.said(turnAt(1, "", `request_domain:{"domain":"rates.example.org","reason":"The rate is not in the files."}`))
			r.asks(v1alpha1.InputDomainRequest, 0)
			r.step()
			anna := r.sits("anna@"+r.ns, mayApprove)
			anna.want(0, "inbox", "domain", "rates.example.org", "kubectl motor allow run")
			anna.want(4, "allow run --once --run")
			anna.want(4, "allow run", "rates.example.org", "say for how long: --once or --run")
			anna.types("y\n").want(0, line, "motorrun/run")
			if got := r.response(); got.Decision != want {
				t.Errorf("response %+v, want %s", got, want)
			}
		})
	}
}

func TestAnUnknownOutcomeIsSettled(t *testing.T) {
	for word, want := range map[string]v1alpha1.Decision{"retry": "Retry", "done": "Done", "skip": "Skip"} {
		t.Run(word, func(t *testing.T) {
			r := askingRig(t)
			r.said(turnAt(1, "", `bash:{"command":"pay"}`))
			r.found(0, "a1-s1-c0", turn.UnknownPerson)
			r.step()
			dana := r.sits("dana@"+r.ns, mayRespond)
			dana.want(0, "inbox", "unknown outcome", "kubectl motor settle run")
			dana.want(4, "settle run", `bash {"command":"pay"}`, "none of retry, done and skip")
			dana.want(4, "settle run retry --reason because", "--reason goes with done and skip")
			dana.want(1, "retry run", "kubectl motor settle run")
			line := "settle run " + word
			if word == "done" {
				dana = dana.types(word + "\n")
				line = "settle run --reason paid"
			}
			dana.want(0, line, "motorrun/run settled: "+word)
			if got := r.response(); got.Decision != want || (got.Reason == "paid") != (word == "done") {
				t.Errorf("response %+v, want %s", got, want)
			}
		})
	}
}

func TestAnAttemptIsRetried(t *testing.T) {
	r := askingRig(t)
	r.said(turnAt(1, "", "bash:{}"))
	r.failed("Stuck")
	r.step()
	dana, anna := r.sits("dana@"+r.ns, mayRespond), r.sits("anna@"+r.ns, mayRespond, mayApprove)
	dana.want(0, "inbox", "retry", "Attempt 1 failed: Stuck", "kubectl motor retry run")
	dana.want(1, "retry run --add-domain example.org", "dana@"+r.ns+" may not", "motorcortex-approver")
	anna.want(0, "retry run --guidance use-port-8080 --add-domain example.org", "motorrun/run tries again: attempt 2")
	want := v1alpha1.Response{ID: "retry-1", Decision: v1alpha1.DecisionRetry, Guidance: "use-port-8080", AddDomains: []v1alpha1.Domain{"example.org"}, RespondedBy: "anna@" + r.ns}
	if diff := cmp.Diff(want, r.response()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestARunIsStopped(t *testing.T) {
	r := askingRig(t)
	r.said(turnAt(1, "", "bash:{}"))
	r.failed("Stuck")
	r.step()
	r.sits("dana@"+r.ns, mayRespond).want(0, "stop run --reason enough", "motorrun/run stopped")
	r.step()
	if run := r.run(); run.Status.Phase != v1alpha1.PhaseFailed || !strings.Contains(run.Status.Message, "enough") {
		t.Errorf("%s: %s", run.Status.Phase, run.Status.Message)
	}
}

// Who may list runs in some namespaces only has one inbox of all of them.
func TestTheInboxIsOfAllNamespacesThatAPersonReads(t *testing.T) {
	r := askingRig(t)
	r.asked(1, `{"question":"Which?"}`)
	other := newNamespace(r.ctx, t)
	user := "dana@" + r.ns
	dana := r.sits(user, mayRespond)
	elsewhere := &terminal{t: t, config: kubeconfig(t, other, user)}
	elsewhere.want(1, "inbox -A", "You may not list namespaces either: name one with -n")
	mayListNamespaces(r.ctx, t, user)
	dana.want(0, "inbox -A", r.ns+" ", "kubectl motor answer run -n "+r.ns)
	elsewhere.want(0, "inbox -A", "kubectl motor answer run -n "+r.ns)
	elsewhere.want(0, "answer run this -n "+r.ns, "motorrun/run answered")
	elsewhere.want(0, "inbox -A -o json", `"items": []`)
}
