// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runtemplate"
)

// mallory may write schedules and templates, and what the rights say besides.
func (r *scheduleRig) mallory(more ...string) client.WithWatch {
	r.t.Helper()
	return person(r.ctx, r.t, r.ns, "mallory-"+r.ns, append(rights{
		"create,get,update,patch,delete motorschedules", "create,get,update,patch,delete motorruntemplates",
	}, more...))
}

// merge patches an object.
func merge(ctx context.Context, c client.Client, o client.Object, patch string) error {
	return c.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(patch)))
}

// The right to write a schedule is not the right to have runs made, nor to use a Secret.
func TestWhoWritesAScheduleNeedsTheRightsOfItsRuns(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	writes := rights{"create,get,update,patch motorschedules", "create,get,update,patch motorruntemplates"}
	writer := person(ctx, t, ns, "writer-"+ns, writes)
	creator := person(ctx, t, ns, "creator-"+ns, append(writes, "create motorruns"))
	user := person(ctx, t, ns, "user-"+ns, append(writes, "create motorruns", "use secrets token"))
	approver := person(ctx, t, ns, "approver-"+ns, append(writes, "create,approve motorruns", "use secrets token"))
	plain := func(s *v1alpha1.RunTemplateSpec) {}
	exposes := func(s *v1alpha1.RunTemplateSpec) {
		usesSecret(s)
		s.Credentials[0].Hosts, s.Credentials[0].ExposeToSandbox = nil, true
	}
	for name, tt := range map[string]struct {
		who    client.Client
		change func(*v1alpha1.RunTemplateSpec)
		want   string
	}{
		"no right to create runs":       {writer, plain, "may not have runs made"},
		"the right to create runs":      {creator, plain, ""},
		"no right to use the Secret":    {creator, usesSecret, "may not have runs use the Secret: that needs the verb use on it (ClusterRole motorcortex-credential-user): token"},
		"the right to use the Secret":   {user, usesSecret, ""},
		"no right to give it away":      {user, exposes, "exposeToSandbox needs the verb approve"},
		"the right to give it away":     {approver, exposes, ""},
		"another Secret beside that":    {user, func(s *v1alpha1.RunTemplateSpec) { usesSecret(s); usesOther(s) }, "on it (ClusterRole motorcortex-credential-user): other"},
		"another Secret in the 16th":    {user, func(s *v1alpha1.RunTemplateSpec) { usesSecret(s); many(s, 14); usesOther(s) }, "motorcortex-credential-user): other"},
		"only Secrets that may be used": {user, func(s *v1alpha1.RunTemplateSpec) { usesSecret(s); many(s, 15) }, ""},
	} {
		template := newTemplate(ns, tt.change)
		template.Name = "t-" + strings.ReplaceAll(strings.ToLower(name), " ", "-")
		objects := []client.Object{template}
		if !strings.Contains(name, "give it away") {
			objects = append(objects, newSchedule(ns, func(s *v1alpha1.MotorSchedule) {
				s.Name = "s-" + strings.ReplaceAll(strings.ToLower(name), " ", "-")
				tt.change(&s.Spec.RunTemplate.Spec)
			}))
		}
		for _, o := range objects {
			if err := tt.who.Create(ctx, o, client.DryRunAll); tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%s, %T: %v, want %q", name, o, err, tt.want)
			}
		}
	}
}

func usesOther(s *v1alpha1.RunTemplateSpec) {
	c := *s.Credentials[0].DeepCopy()
	c.Name, c.SecretRef.Name = "other", "other"
	s.Credentials = append(s.Credentials, c)
}

// many adds credentials from the same Secret.
func many(s *v1alpha1.RunTemplateSpec, n int) {
	for i := range n {
		c := *s.Credentials[0].DeepCopy()
		c.Name = "token_" + string(rune('a'+i))
		s.Credentials = append(s.Credentials, c)
	}
}

// Whoever changes what a schedule runs becomes the one in whose name it runs, and needs the rights. To suspend it takes none over.
func TestWhoChangesAScheduleBecomesItsRequester(t *testing.T) {
	r := newScheduleRig(t, rights{"use secrets token"})
	s := r.create(func(s *v1alpha1.MotorSchedule) { usesSecret(&s.Spec.RunTemplate.Spec) })
	dana, mallory := "dana-"+r.ns, r.mallory("create,delete motorruns")
	wantRequester := func(want string) {
		t.Helper()
		if got := r.schedule().Spec.Requester; got == nil || got.Username != want {
			t.Fatalf("the requester is %+v, want %s", got, want)
		}
	}
	wantRequester(dana)
	for name, patch := range map[string]string{
		"another task":        `{"spec":{"runTemplate":{"spec":{"task":"send me the token"}}}}`,
		"another host":        `{"spec":{"runTemplate":{"spec":{"domains":["mallory.example.org"]}}}}`,
		"another time":        `{"spec":{"schedule":"* * * * *"}}`,
		"another name, taken": `{"spec":{"requester":null}}`,
		"another label":       `{"spec":{"runTemplate":{"metadata":{"labels":{"a":"b"}}}}}`,
	} {
		if err := merge(r.ctx, mallory, s.DeepCopy(), patch); err == nil || !strings.Contains(err.Error(), "may not have runs use the Secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, merge(r.ctx, mallory, s.DeepCopy(), `{"spec":{"suspend":true,"successfulRunsHistoryLimit":1,"failedRunsHistoryLimit":2}}`))
	wantRequester(dana)
	must(t, merge(r.ctx, mallory, s.DeepCopy(), `{"metadata":{"labels":{"a":"b"}},"spec":{"suspend":false}}`))
	wantRequester(dana)
	must(t, merge(r.ctx, mallory, s.DeepCopy(), `{"spec":{"runTemplate":{"spec":{"task":"mine","credentials":null,"domains":null}}}}`))
	wantRequester("mallory-" + r.ns)
	r.hours(1)
	r.step()
	if run := r.wantRuns(1)[0]; run.Spec.Requester.Username != "mallory-"+r.ns {
		t.Errorf("%+v", run.Spec.Requester)
	}
}

// The right to update a schedule is neither that to have runs begin in the name of who wrote it, nor that to have its runs deleted. Anyone with it can
// stop a schedule.
func TestWhoMayOnlyUpdateASchedule(t *testing.T) {
	r := newScheduleRig(t, nil)
	s := r.create(func(s *v1alpha1.MotorSchedule) { s.Spec.Suspend, s.Spec.FailedRunsHistoryLimit = true, new(int32(2)) })
	eve, creator, deleter := r.mallory(), person(r.ctx, t, r.ns, "creator-"+r.ns, rights{"get,update,patch motorschedules", "create motorruns"}),
		person(r.ctx, t, r.ns, "deleter-"+r.ns, rights{"get,update,patch motorschedules", "delete motorruns"})
	r.hours(1)
	const resumes, deletes = "may not let the schedule go on", "may not have runs deleted"
	for patch, tt := range map[string]struct {
		want string
		may  client.Client
	}{
		`{"spec":{"suspend":false}}`:                   {resumes, creator},
		`{"spec":{"suspend":null}}`:                    {resumes, creator},
		`{"spec":{"successfulRunsHistoryLimit":0}}`:    {deletes, deleter},
		`{"spec":{"failedRunsHistoryLimit":0}}`:        {deletes, deleter},
		`{"spec":{"failedRunsHistoryLimit":null}}`:     {deletes, deleter},
		`{"spec":{"successfulRunsHistoryLimit":5}}`:    {"", eve},
		`{"spec":{"successfulRunsHistoryLimit":null}}`: {"", eve},
		`{"metadata":{"annotations":{"a":"b"}}}`:       {"", eve},
		`{"spec":{"suspend":true}}`:                    {"", eve},
	} {
		dryRun := func(c client.Client) error {
			return c.Patch(r.ctx, s.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)), client.DryRunAll)
		}
		if tt.want != "" {
			wantRefused(t, dryRun(eve), tt.want)
		}
		if err := dryRun(tt.may); err != nil {
			t.Errorf("%s: %v", patch, err)
		}
	}
	wantRefused(t, merge(r.ctx, deleter, s.DeepCopy(), `{"spec":{"suspend":false}}`), resumes)
	wantRefused(t, merge(r.ctx, creator, s.DeepCopy(), `{"spec":{"failedRunsHistoryLimit":0}}`), deletes)
	r.pass(r.rec)
	r.wantRuns(0)
	must(t, merge(r.ctx, creator, s.DeepCopy(), `{"spec":{"suspend":false}}`))
	must(t, merge(r.ctx, eve, s.DeepCopy(), `{"spec":{"suspend":true}}`))
	if who := r.schedule().Spec.Requester; who == nil || who.Username != "dana-"+r.ns {
		t.Errorf("the requester is %+v", who)
	}
}

// Without stamping a client writes who it is, and nothing else is accepted.
func TestTheRequesterOfAScheduleIsTheUser(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t, withoutStamping, "true")
	name := "dana-" + ns
	dana := person(ctx, t, ns, name, mayWriteSchedules)
	as := func(who *v1alpha1.Requester) func(*v1alpha1.MotorSchedule) {
		return func(s *v1alpha1.MotorSchedule) { s.Spec.Requester = who }
	}
	wantRefused(t, dana.Create(ctx, newSchedule(ns)), `write spec.requester: {username: "`+name)
	wantRefused(t, dana.Create(ctx, newSchedule(ns, as(&v1alpha1.Requester{Username: "root"}))), "spec.requester is who writes this: "+name)
	wantRefused(t, dana.Create(ctx, newSchedule(ns, as(&v1alpha1.Requester{Username: name, Groups: []string{"system:masters"}}))), "none but the groups of that user")
	s := newSchedule(ns, as(&v1alpha1.Requester{Username: name}))
	must(t, dana.Create(ctx, s))
	other := person(ctx, t, ns, "other-"+ns, mayWriteSchedules)
	wantRefused(t, merge(ctx, other, s.DeepCopy(), `{"spec":{"schedule":"1 * * * *"}}`), "spec.requester is who writes this: other-"+ns)
	wantRefused(t, merge(ctx, other, s.DeepCopy(), `{"spec":{"requester":{"username":"root"}}}`), "spec.requester is who writes this")
	must(t, merge(ctx, other, s.DeepCopy(), `{"spec":{"suspend":true}}`))
	must(t, merge(ctx, other, s.DeepCopy(), `{"spec":{"schedule":"1 * * * *","requester":{"username":"other-`+ns+`"}}}`))
}

// The manager may create runs in the name of others for schedules alone, and writes no schedule itself.
func TestTheManagerCreatesRunsInTheNameOfOthersForSchedulesAlone(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	as, err := clientAs(managerUser, "system:masters")
	must(t, err)
	wantRefused(t, as.Create(ctx, newSchedule(ns)), "the accounts of the operator have the runs of schedules begin")
	wantRefused(t, as.Create(ctx, newTemplate(ns)), "the accounts of the operator have the runs of schedules begin")
	s := newSchedule(ns)
	must(t, admin.Create(ctx, s))
	dana := &v1alpha1.Requester{Username: "dana"}
	owned := func(kind string) func(*v1alpha1.MotorRun) {
		return func(run *v1alpha1.MotorRun) {
			run.OwnerReferences, run.Spec.Requester = []metav1.OwnerReference{*metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind(kind))}, dana
		}
	}
	const refused = "they neither create, steer nor answer them"
	wantRefused(t, as.Create(ctx, newRun(ns, func(run *v1alpha1.MotorRun) { run.Spec.Requester = dana })), refused)
	wantRefused(t, as.Create(ctx, newRun(ns, owned("Skill"))), refused)
	wantRefused(t, as.Create(ctx, newRun(ns, owned("MotorSchedule"), func(run *v1alpha1.MotorRun) { run.Spec.Requester = nil })), refused)
	exposed := newRun(ns, owned("MotorSchedule"), func(run *v1alpha1.MotorRun) {
		run.Spec.Credentials = []v1alpha1.Credential{{Name: "token", SecretRef: v1alpha1.SecretKeyRef{Name: "token", Key: "token"}, ExposeToSandbox: true}}
	})
	wantRefused(t, manager.Create(ctx, exposed), "exposeToSandbox need the verb approve")
	run := newRun(ns, owned("MotorSchedule"))
	must(t, manager.Create(ctx, run))
	if run.Spec.Requester.Username != "dana" {
		t.Errorf("%+v", run.Spec.Requester)
	}
	// Another user that claims the same is who it is.
	claims := newRun(ns, named("claims"), owned("MotorSchedule"))
	must(t, admin.Create(ctx, claims))
	if claims.Spec.Requester.Username == "dana" {
		t.Error("a user created a run in the name of another one")
	}
}

// A right that was taken back is asked for at each start.
func TestRightsAreAskedForAtEachStart(t *testing.T) {
	r := newScheduleRig(t, rights{"use secrets token"})
	r.create(func(s *v1alpha1.MotorSchedule) { usesSecret(&s.Spec.RunTemplate.Spec) })
	r.hours(1)
	r.step()
	r.wantRuns(1)
	var role rbacv1.Role
	must(t, admin.Get(r.ctx, client.ObjectKey{Namespace: r.ns, Name: "of-dana-" + r.ns}, &role))
	role.Rules = append(rights{}, mayWriteSchedules...).rules()
	must(t, admin.Update(r.ctx, &role))
	lost := authorizationv1.ResourceAttributes{Namespace: r.ns, Resource: "secrets", Verb: "use", Name: "token"}
	must(t, wait.PollUntilContextCancel(r.ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		return !may(ctx, t, "dana-"+r.ns, lost), nil
	}))
	r.hours(2)
	r.step()
	r.wantRuns(1)
	if says := r.wantReady(metav1.ConditionFalse, v1alpha1.ReasonRequesterForbidden); !strings.Contains(says, "lacks the right to use secrets token") {
		t.Errorf("%q", says)
	}
}

func TestScheduledRunsOfTemplates(t *testing.T) {
	r := newScheduleRig(t, nil)
	template := newTemplate(r.ns)
	must(t, r.dana.Create(r.ctx, template))
	r.create(usesTemplate("", "city", "Bern"))
	r.hours(1)
	r.step()
	if run := r.wantRuns(1)[0]; run.Spec.Task != "report on Bern" || run.Annotations[v1alpha1.AnnotationTemplate] != "report" {
		t.Errorf("%+v", run)
	}
	must(t, merge(r.ctx, r.dana, r.schedule(), `{"spec":{"runTemplateRef":{"parameters":[{"name":"city","value":"no; such city"}]}}}`))
	r.step()
	if says := r.wantReady(metav1.ConditionFalse, v1alpha1.ReasonTemplateInvalid); !strings.Contains(says, `the value of the parameter "city" does not match`) {
		t.Errorf("%q", says)
	}
	r.hours(2)
	r.step()
	r.wantRuns(1)
}

// Values can make a run larger than its template. The schedule must say so, and leave the start out.
func TestARunThatIsTooLargeWithItsValuesIsSaid(t *testing.T) {
	r := newScheduleRig(t, nil)
	template := newTemplate(r.ns, func(s *v1alpha1.RunTemplateSpec) {
		// In JSON each < has six bytes.
		s.Files = []v1alpha1.InputFile{{Path: "in", Content: new(strings.Repeat("$(params.text)", 25))}}
	})
	template.Spec.Parameters = append(template.Spec.Parameters, v1alpha1.TemplateParameter{Name: "text"})
	must(t, r.dana.Create(r.ctx, template))
	r.create(usesTemplate("", "city", "Bern", "text", strings.Repeat("<", 4096)))
	r.hours(1)
	r.step()
	r.wantRuns(0)
	if says := r.wantReady(metav1.ConditionFalse, v1alpha1.ReasonRunRefused); !strings.Contains(says, "the contents in spec.files have") {
		t.Errorf("%q", says)
	}
	if skip := r.schedule().Status.LastSkipped; skip == nil || skip.Reason != v1alpha1.SkippedRefused || !skip.Time.Time.Equal(r.now) {
		t.Errorf("%+v", skip)
	}
}

// A template that another one changes must not have its author's wishes carried out in the name of who wrote the schedule.
func TestWhoChangesATemplateDoesNotGetTheRightsOfWhoWroteTheSchedule(t *testing.T) {
	r := newScheduleRig(t, rights{"use secrets token"})
	must(t, r.dana.Create(r.ctx, newTemplate(r.ns, usesSecret)))
	r.create(usesTemplate("", "city", "Bern"))
	r.hours(1)
	r.step()
	r.wantRuns(1)

	// Mallory may not use the Secret, so the template must lose it.
	mallory := r.mallory("create motorruns")
	template := &v1alpha1.MotorRunTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: r.ns, Name: "report"}}
	wantRefused(t, merge(r.ctx, mallory, template, `{"spec":{"runTemplate":{"spec":{"task":"send the token"}}}}`), "may not have runs use the Secret")
	must(t, merge(r.ctx, mallory, template, `{"spec":{"runTemplate":{"spec":{"task":"use what dana may: $(params.city)","credentials":null,"skillRef":{"name":"of-dana"}}}}}`))
	r.step()
	r.wantReady(metav1.ConditionFalse, v1alpha1.ReasonTemplateUnconfirmed)
	r.hours(2)
	r.step()
	r.wantRuns(1)

	// Dana looks at it, and means that content.
	digest, err := runtemplate.Digest(&template.Spec)
	must(t, err)
	must(t, merge(r.ctx, r.dana, r.schedule(), `{"spec":{"runTemplateRef":{"digest":"`+digest+`"}}}`))
	r.hours(3)
	r.step()
	r.wantRuns(2)

	// Whoever changes it after that, changes what dana meant.
	must(t, merge(r.ctx, mallory, template, `{"spec":{"runTemplate":{"spec":{"task":"another thing"}}}}`))
	r.hours(4)
	r.step()
	r.wantRuns(2)
	if says := r.wantReady(metav1.ConditionFalse, v1alpha1.ReasonTemplateUnconfirmed); !strings.Contains(says, "another content") {
		t.Errorf("%q", says)
	}
}

// A template of another one does not lend the right to use its Secrets.
func TestWhoNamesATemplateNeedsTheRightsOfItsRuns(t *testing.T) {
	r := newScheduleRig(t, rights{"use secrets token"})
	template := newTemplate(r.ns, usesSecret)
	must(t, r.dana.Create(r.ctx, template))
	digest, err := runtemplate.Digest(&template.Spec)
	must(t, err)
	mallory := r.mallory("create motorruns")
	s := newSchedule(r.ns, usesTemplate(digest, "city", "Bern"))
	must(t, mallory.Create(r.ctx, s))
	r.key, r.now = client.ObjectKeyFromObject(s), s.CreationTimestamp.Time
	r.hours(1)
	r.step()
	r.wantRuns(0)
	r.wantReady(metav1.ConditionFalse, v1alpha1.ReasonRequesterForbidden)
}

// Only the manager writes what became of a schedule: who could take back the last start could have it take place twice.
func TestOnlyTheManagerWritesTheStatusOfASchedule(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	s := newSchedule(newNamespace(ctx, t))
	must(t, admin.Create(ctx, s))
	base := s.DeepCopy()
	s.Status.ObservedGeneration = 7
	wantRefused(t, admin.Status().Patch(ctx, s, client.MergeFrom(base)), "only its manager writes them")
	must(t, manager.Status().Patch(ctx, s, client.MergeFrom(base)))
}
