// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// What each role of config/rbac/user_roles.yaml gives.
var (
	editor         = rights{"create,update,patch motorruns"}
	responder      = rights{"get,list,watch,patch,respond motorruns"}
	approver       = rights{"get,list,watch,patch,approve motorruns"}
	credentialUser = rights{"use secrets"}
)

func with(sets ...rights) rights {
	var all rights
	for _, s := range sets {
		all = append(all, s...)
	}
	return all
}

const (
	answerOf   = `{"id":"q1","answer":"yes"}`
	decisionOf = `{"id":"d1","decision":"AllowRun"}`
)

func TestRequesterIsStamped(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	alice := person(ctx, t, ns, "alice@"+ns, editor, "team-a", "team-b")
	want := &v1alpha1.Requester{Username: "alice@" + ns, Groups: []string{"team-a", "team-b", "system:authenticated"}}
	for name, forged := range map[string]*v1alpha1.Requester{
		"none": nil, "another": {Username: "root"}, "more groups": {Username: "alice@" + ns, Groups: []string{"system:masters"}},
	} {
		t.Run(name, func(t *testing.T) {
			run := newRun(ns, func(run *v1alpha1.MotorRun) { run.Spec.Requester = forged })
			must(t, alice.Create(ctx, run, client.DryRunAll))
			if diff := cmp.Diff(want, run.Spec.Requester); diff != "" {
				t.Error(diff)
			}
		})
	}
	var groups []string
	for i := range 300 {
		groups = append(groups, fmt.Sprintf("group-%d", i))
	}
	member, err := clientAs("alice@"+ns, groups...)
	must(t, err)
	run := newRun(ns)
	must(t, member.Create(ctx, run))
	if n := len(run.Spec.Requester.Groups); n != 256 {
		t.Errorf("of 301 groups %d were kept", n)
	}
}

// Whoever did not create a run does not become its requester by changing it.
func TestRequesterStays(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	alice, bob := person(ctx, t, ns, "alice@"+ns, editor), person(ctx, t, ns, "bob@"+ns, editor)
	run := newRun(ns)
	must(t, alice.Create(ctx, run))
	run.Spec.Suspend = true
	must(t, bob.Update(ctx, run))
	if run.Spec.Requester.Username != "alice@"+ns {
		t.Errorf("requester %+v", run.Spec.Requester)
	}
	run.Spec.Requester.Username = "bob@" + ns
	wantRefused(t, bob.Update(ctx, run), "requester never changes")
}

func TestRequesterWithoutStamping(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t, withoutStamping, "true")
	user := "alice@" + ns
	alice := person(ctx, t, ns, user, with(editor, credentialUser), "team-a")
	credential := []v1alpha1.Credential{{Name: "key", SecretRef: v1alpha1.SecretKeyRef{Name: "s", Key: "k"}, Hosts: []v1alpha1.Domain{"api.example.org"}}}
	tests := map[string]struct {
		requester   *v1alpha1.Requester
		credentials []v1alpha1.Credential
		want        string
	}{
		"none, and no credentials": {},
		"true":                     {requester: &v1alpha1.Requester{Username: user, Groups: []string{"team-a"}}, credentials: credential},
		"without groups":           {requester: &v1alpha1.Requester{Username: user}, credentials: credential},
		"another user":             {requester: &v1alpha1.Requester{Username: "root"}, want: "spec.requester is who creates the run, or releases a copy: " + user},
		"a foreign group":          {requester: &v1alpha1.Requester{Username: user, Groups: []string{"system:masters"}}, want: "none but the groups"},
		"none, with credentials":   {credentials: credential, want: `requester: {username: "` + user + `", groups: ["team-a", "system:authenticated"]}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := alice.Create(ctx, newRun(ns, func(run *v1alpha1.MotorRun) {
				run.Spec.Domains = []v1alpha1.Domain{"api.example.org"}
				run.Spec.Requester, run.Spec.Credentials = tt.requester, tt.credentials
			}), client.DryRunAll)
			if tt.want == "" {
				must(t, err)
				return
			}
			wantRefused(t, err, tt.want)
		})
	}
}

// Each kind of entry needs a right of its own, and the right to patch is not one of them.
func TestWhoMayAnswerAndSteer(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	run := createRun(ctx, t, ns)
	users := map[string]client.WithWatch{}
	for name, r := range map[string]rights{
		"editor": editor, "responder": responder, "approver": approver,
		"of this run": {"patch motorruns", "respond motorruns run"}, "of another run": {"patch motorruns", "respond motorruns other"},
	} {
		users[name] = person(ctx, t, ns, fmt.Sprintf("user-%d@%s", len(users), ns), r)
	}
	const respond, approve, update = "the verb respond", "need the verb approve", "need the verb update"
	entries := map[string]struct{ list, entry string }{
		"answer": {"responses", answerOf}, "decision": {"responses", decisionOf},
		"retry": {"responses", `{"id":"retry-1","decision":"Retry"}`}, "domains": {"responses", `{"id":"retry-1","decision":"Retry","addDomains":["example.org"]}`},
	}
	steer := map[string]string{
		"owner":     `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"gone","uid":"0"}]}}`,
		"finalizer": `{"metadata":{"finalizers":["example.org/keep"]}}`,
		"label":     `{"metadata":{"labels":{"cleanup.example.org/ttl":"1s"}}}`, "annotation": `{"metadata":{"annotations":{"note":"seen"}}}`,
		"cancel": `{"spec":{"cancel":true}}`, "suspend": `{"spec":{"suspend":true}}`, "ttl": `{"spec":{"ttlSecondsAfterFinished":0}}`,
	}
	for user, want := range map[string]map[string]string{
		"editor":         {"answer": respond, "decision": approve, "domains": approve},
		"responder":      {"owner": update, "finalizer": update, "label": update, "annotation": update, "decision": approve, "domains": approve, "cancel": update, "suspend": update, "ttl": update},
		"approver":       {"owner": update, "finalizer": update, "label": update, "annotation": update, "answer": respond, "domains": respond, "retry": respond, "cancel": update, "suspend": update, "ttl": update},
		"of this run":    {"owner": update, "finalizer": update, "label": update, "annotation": update, "decision": approve, "domains": approve, "cancel": update, "suspend": update, "ttl": update},
		"of another run": {"owner": update, "finalizer": update, "label": update, "annotation": update, "answer": respond, "decision": approve, "domains": respond, "retry": respond, "cancel": update, "suspend": update, "ttl": update},
	} {
		for what, e := range entries {
			t.Run(user+" "+what, func(t *testing.T) { wantAdmitted(t, add(ctx, dryRun(users[user]), run, e.list, e.entry), want[what]) })
		}
		for what, patch := range steer {
			t.Run(user+" "+what, func(t *testing.T) {
				wantAdmitted(t, dryRun(users[user]).Patch(ctx, run.DeepCopy(), mergePatchOf("%s", patch)), want[what])
			})
		}
	}
}

func dryRun(c client.WithWatch) client.Client { return client.NewDryRunClient(c) }

// wantAdmitted fails unless err is the refusal that is wanted, or nil if none is.
func wantAdmitted(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" {
		must(t, err)
		return
	}
	wantRefused(t, err, want)
}

func TestResponseIsStampedAndStays(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	run := createRun(ctx, t, ns)
	ruth := person(ctx, t, ns, "ruth@"+ns, responder)
	anna := person(ctx, t, ns, "anna@"+ns, approver)
	must(t, add(ctx, ruth, run, "responses", `{"id":"q1","answer":"yes","respondedBy":"root"}`))
	must(t, add(ctx, anna, run, "responses", decisionOf))
	must(t, admin.Get(ctx, client.ObjectKeyFromObject(run), run))
	want := []v1alpha1.Response{
		{ID: "q1", Answer: "yes", RespondedBy: "ruth@" + ns}, {ID: "d1", Decision: v1alpha1.DecisionAllowRun, RespondedBy: "anna@" + ns},
	}
	if diff := cmp.Diff(want, run.Spec.Responses); diff != "" {
		t.Fatal(diff)
	}
	for name, tt := range map[string]struct{ patch, want string }{
		"changed":      {`[{"op":"replace","path":"/spec/responses/0/answer","value":"no"}]`, "a response cannot be changed"},
		"taken over":   {`[{"op":"replace","path":"/spec/responses/0/respondedBy","value":"anna@` + ns + `"}]`, "a response cannot be changed"},
		"removed":      {`[{"op":"remove","path":"/spec/responses/0"}]`, "cannot be taken back"},
		"another task": {`[{"op":"replace","path":"/spec/task","value":"x"}]`, "task never changes"},
	} {
		t.Run(name, func(t *testing.T) { wantRefused(t, patchJSON(ctx, ruth, run, tt.patch), tt.want) })
	}
}

// A client that applies the same answer again, as controllers do, changes nothing and is not refused.
func TestAppliedResponse(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	run := createRun(ctx, t, ns)
	ruth := person(ctx, t, ns, "ruth@"+ns, responder)
	for range 2 {
		applied := &unstructured.Unstructured{}
		applied.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("MotorRun"))
		applied.SetNamespace(ns)
		applied.SetName(run.Name)
		must(t, unstructured.SetNestedSlice(applied.Object, []any{map[string]any{"id": "q1", "answer": "yes"}}, "spec", "responses"))
		must(t, ruth.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner("answer-q1")))
	}
	must(t, admin.Get(ctx, client.ObjectKeyFromObject(run), run))
	if len(run.Spec.Responses) != 1 || run.Spec.Responses[0].RespondedBy != "ruth@"+ns {
		t.Errorf("responses %+v", run.Spec.Responses)
	}
}

func TestResponseWithoutStamping(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t, withoutStamping, "true")
	run := createRun(ctx, t, ns)
	user := "ruth@" + ns
	ruth := person(ctx, t, ns, user, responder)
	wantRefused(t, add(ctx, ruth, run, "responses", answerOf), "respondedBy", "is who writes it: "+user)
	wantRefused(t, add(ctx, ruth, run, "responses", `{"id":"q1","answer":"yes","respondedBy":"root"}`), "is who writes it: "+user)
	must(t, add(ctx, ruth, run, "responses", `{"id":"q1","answer":"yes","respondedBy":"`+user+`"}`))
}

// The operator and its proxy answer nobody, even with every right that there is.
func TestTheOperatorDecidesNothing(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	run := createRun(ctx, t, ns)
	const denied = "the accounts of the operator carry runs out"
	for _, user := range []string{managerUser, egressProxyUser} {
		c, err := clientAs(user, "system:masters")
		must(t, err)
		t.Run(user, func(t *testing.T) {
			wantRefused(t, c.Create(ctx, newRun(ns, func(run *v1alpha1.MotorRun) { run.Name = "own" })), denied)
			wantRefused(t, add(ctx, c, run, "responses", answerOf), denied)
			wantRefused(t, add(ctx, c, run, "responses", decisionOf), denied)
			wantRefused(t, add(ctx, c, run, "responses", `{"id":"retry-1","decision":"Retry"}`), denied)
			wantRefused(t, c.Patch(ctx, run.DeepCopy(), mergePatchOf(`{"spec":{"cancel":true}}`)), denied)
			must(t, c.Patch(ctx, run.DeepCopy(), mergePatchOf(`{"metadata":{"finalizers":["motorcortex.dev/x"]}}`)))
			must(t, c.Patch(ctx, run.DeepCopy(), mergePatchOf(`{"metadata":{"finalizers":null}}`)))
		})
	}
}

// The manager creates the runs that install packages for a skill, and nobody else does.
func TestRunsThatInstall(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	const operators, decides = "runs of mode Install are the operator's", "the accounts of the operator carry runs out"
	install := func(change ...func(*v1alpha1.MotorRun)) *v1alpha1.MotorRun {
		run := &v1alpha1.MotorRun{ObjectMeta: meta(ns, "weather-packages-0123456789ab")}
		run.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Skill", Name: "weather", UID: "u", Controller: new(true)}}
		run.Spec = v1alpha1.MotorRunSpec{
			Mode: v1alpha1.ModeInstall, Dependencies: &v1alpha1.SkillDependencies{Pip: []string{"requests==2.32.3"}}, Domains: []v1alpha1.Domain{"packages.example.org"},
		}
		for _, c := range change {
			c(run)
		}
		return run
	}
	operator, err := clientAs(managerUser, "system:masters")
	must(t, err)
	proxy, err := clientAs(egressProxyUser, "system:masters")
	must(t, err)
	for name, tt := range map[string]struct {
		as   client.Client
		run  *v1alpha1.MotorRun
		want string
	}{
		"the manager":      {operator, install(), ""},
		"an administrator": {admin, install(), operators},
		"an editor":        {person(ctx, t, ns, "ed@"+ns, editor), install(), operators},
		"the egress proxy": {proxy, install(), decides},
		"of nobody":        {operator, install(func(run *v1alpha1.MotorRun) { run.OwnerReferences = nil }), operators},
		"of a run":         {operator, install(func(run *v1alpha1.MotorRun) { run.OwnerReferences[0].Kind = "MotorRun" }), operators},
		"of another group": {operator, install(func(run *v1alpha1.MotorRun) { run.OwnerReferences[0].APIVersion = "example.org/v1" }), operators},
		"not controlled":   {operator, install(func(run *v1alpha1.MotorRun) { run.OwnerReferences[0].Controller = nil }), operators},
		"another mode":     {operator, install(func(run *v1alpha1.MotorRun) { run.Spec = newRun(ns).Spec }), decides},
		"with an answer":   {operator, install(func(run *v1alpha1.MotorRun) { run.Spec.Responses = []v1alpha1.Response{{ID: "q", Answer: "a"}} }), decides},
		"with a retry": {operator, install(func(run *v1alpha1.MotorRun) {
			run.Spec.Responses = []v1alpha1.Response{{ID: "retry-1", Decision: v1alpha1.DecisionRetry}}
		}), decides},
	} {
		t.Run(name, func(t *testing.T) { wantAdmitted(t, tt.as.Create(ctx, tt.run, client.DryRunAll), tt.want) })
	}
	// It is a run like others for whoever may steer it.
	made := install()
	must(t, operator.Create(ctx, made))
	must(t, admin.Patch(ctx, made.DeepCopy(), mergePatchOf(`{"spec":{"cancel":true}}`)))
	wantRefused(t, operator.Patch(ctx, made.DeepCopy(), mergePatchOf(`{"spec":{"suspend":true}}`)), decides)
}

// A skill may have credentials, and they are handed out in the requester's name.
func TestRunWithSkillHasARequester(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t, withoutStamping, "true")
	user := "alice@" + ns
	alice := person(ctx, t, ns, user, editor)
	run := newRun(ns, func(run *v1alpha1.MotorRun) { run.Spec.SkillRef = &v1alpha1.SkillRef{Name: "weather"} })
	wantRefused(t, alice.Create(ctx, run.DeepCopy(), client.DryRunAll), "a run with credentials, skillRef or files from ConfigMaps and artifacts says who wants to use them", `requester: {username: "`+user+`"`)
	run.Spec.Requester = &v1alpha1.Requester{Username: user}
	must(t, alice.Create(ctx, run, client.DryRunAll))
}

func TestCredentialsNeedTheirSecrets(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	all := person(ctx, t, ns, "all@"+ns, with(editor, credentialUser))
	two := person(ctx, t, ns, "two@"+ns, with(editor, rights{"use secrets s0 s1"}))
	none := person(ctx, t, ns, "none@"+ns, with(editor, rights{"get,list,watch,update secrets"}))
	tests := map[string]struct {
		as      client.Client
		secrets []int
		want    string
	}{
		"all of them":              {all, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, ""},
		"those that are allowed":   {two, []int{1, 0, 1}, ""},
		"one more":                 {two, []int{0, 1, 2}, "may not use the Secret: that needs the verb use on it (ClusterRole motorcortex-credential-user): s2"},
		"the last one":             {two, []int{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 9}, "s9"},
		"who reads it may not use": {none, []int{0}, "s0"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			wantAdmitted(t, tt.as.Create(ctx, credentialRun(ns, tt.secrets), client.DryRunAll), tt.want)
		})
	}
}

func credentialRun(namespace string, secrets []int) *v1alpha1.MotorRun {
	return newRun(namespace, func(run *v1alpha1.MotorRun) {
		run.Spec.Domains = []v1alpha1.Domain{"api.example.org"}
		for i, s := range secrets {
			run.Spec.Credentials = append(run.Spec.Credentials, v1alpha1.Credential{
				Name: fmt.Sprintf("key_%d", i), SecretRef: v1alpha1.SecretKeyRef{Name: fmt.Sprintf("s%d", s), Key: "value"},
				Hosts: []v1alpha1.Domain{"api.example.org"},
			})
		}
	})
}

func TestExposedCredentialNeedsApproval(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	exposed := func() *v1alpha1.MotorRun {
		return newRun(ns, func(run *v1alpha1.MotorRun) {
			run.Spec.Credentials = []v1alpha1.Credential{{Name: "key", SecretRef: v1alpha1.SecretKeyRef{Name: "s", Key: "k"}, ExposeToSandbox: true}}
		})
	}
	wantRefused(t, person(ctx, t, ns, "a@"+ns, with(editor, credentialUser)).Create(ctx, exposed(), client.DryRunAll), "exposeToSandbox", "need the verb approve")
	must(t, person(ctx, t, ns, "b@"+ns, with(editor, credentialUser, approver)).Create(ctx, exposed(), client.DryRunAll))
}

// The largest request that the kind lets through costs less than what the API server spends on policies.
func TestPoliciesAffordTheLargestRun(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	c := person(ctx, t, ns, "c@"+ns, with(editor, credentialUser, approver, responder))
	run := credentialRun(ns, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
	run.Spec.Credentials[0].ExposeToSandbox, run.Spec.Credentials[0].Hosts = true, nil
	for i := range 246 {
		run.Spec.Responses = append(run.Spec.Responses, v1alpha1.Response{ID: fmt.Sprintf("%064d", i), Answer: "a"})
	}
	for i := range 9 {
		run.Spec.Responses = append(run.Spec.Responses, v1alpha1.Response{ID: fmt.Sprintf("retry-%d", i+1), Decision: v1alpha1.DecisionRetry, AddDomains: []v1alpha1.Domain{"example.org"}})
	}
	must(t, c.Create(ctx, run))
	must(t, add(ctx, c, run, "responses", decisionOf))
}

func patchJSON(ctx context.Context, c client.Client, o client.Object, patch string) error {
	return c.Patch(ctx, o.DeepCopyObject().(client.Object), client.RawPatch("application/json-patch+json", []byte(patch)))
}
