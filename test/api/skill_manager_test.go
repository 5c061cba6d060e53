// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/hold"
	"motorcortex.dev/motorcortex/internal/controller/skill"
	skillsource "motorcortex.dev/motorcortex/internal/skill/source"
	skillstore "motorcortex.dev/motorcortex/internal/skill/store"
)

// sharedCount counts how often a source is read, for passes that are taken side by side.
type sharedCount struct {
	skill.Source
	reads atomic.Int32
}

func (s *sharedCount) Read(ctx context.Context, namespace string, src *v1alpha1.SkillSource) (skillsource.Read, error) {
	s.reads.Add(1)
	return s.Source.Read(ctx, namespace, src)
}

// startSkills runs the reconciler as the manager does, for one namespace: with a cache that has no contents.
func startSkills(ctx context.Context, t *testing.T, ns string) *sharedCount {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	cfg := rest.CopyConfig(adminConfig)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: managerUser, Groups: []string{"system:authenticated"}}
	withoutContents := func(o any) (any, error) {
		if sk, ok := o.(*v1alpha1.Skill); ok && sk.Spec.Source != nil {
			for i := range sk.Spec.Source.Files {
				sk.Spec.Source.Files[i].Content = ""
			}
		}
		return o, nil
	}
	onlyMetadata := func(o any) (any, error) {
		if _, ok := o.(*corev1.ConfigMap); ok {
			t.Error("the cache has ConfigMaps with their content")
		}
		return o, nil
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Cache: cache.Options{
			DefaultNamespaces: map[string]cache.Config{ns: {}},
			ByObject:          map[client.Object]cache.ByObject{&v1alpha1.Skill{}: {Transform: withoutContents}, &corev1.ConfigMap{}: {Transform: onlyMetadata}},
		},
		Client:     client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}}},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	must(t, err)
	source := &sharedCount{Source: &skillsource.Reader{Live: mgr.GetAPIReader()}}
	r := &skill.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Heads: mgr.GetCache(), Recorder: mgr.GetEventRecorder("motorcortex"),
		Source: source, Store: &skillstore.Store{Client: mgr.GetClient(), Live: mgr.GetAPIReader()}, Now: time.Now,
	}
	must(t, r.SetupWithManager(mgr)) //nolint:contextcheck,nolintlint // The cache keeps its indexes for as long as it lives.
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the manager ended with %v", err)
		}
	})
	return source
}

// waitForSkill waits until a skill is as it should be.
func waitForSkill(ctx context.Context, t *testing.T, key client.ObjectKey, is func(*v1alpha1.SkillStatus) bool) *v1alpha1.Skill {
	t.Helper()
	sk := &v1alpha1.Skill{}
	err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := admin.Get(ctx, key, sk)
		return err == nil && sk.Status.ObservedGeneration == sk.Generation && is(&sk.Status), err
	})
	if err != nil {
		t.Fatalf("%v; the status is %+v", err, sk.Status)
	}
	return sk
}

func inState(state v1alpha1.SkillState) func(*v1alpha1.SkillStatus) bool {
	return func(st *v1alpha1.SkillStatus) bool { return st.State == state }
}

// The controller is told of everything that a skill depends on, and of nothing too often.
func TestSkillController(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	front := func(body string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: meta(ns, "front"), Data: map[string]string{"SKILL.md": skillMD("mapped", body)}}
	}
	mapped := &v1alpha1.Skill{ObjectMeta: meta(ns, "mapped"), Spec: v1alpha1.SkillSpec{Source: fromConfigMaps("front")}}
	must(t, admin.Create(ctx, mapped))
	must(t, admin.Create(ctx, &v1alpha1.Skill{ObjectMeta: meta(ns, "send"), Spec: v1alpha1.SkillSpec{Source: inline("SKILL.md", skillMD("send", "One."))}}))
	source := startSkills(ctx, t, ns)
	inlined := waitForSkill(ctx, t, client.ObjectKey{Namespace: ns, Name: "send"}, inState(v1alpha1.SkillAwaitingApproval))
	if st := inlined.Status; st.Source == nil || st.Description != "Sends a message." {
		t.Errorf("the status is %+v", st)
	}
	key := client.ObjectKeyFromObject(mapped)
	waitForSkill(ctx, t, key, inState(v1alpha1.SkillPendingReview))
	must(t, admin.Create(ctx, front("One.")))
	sk := waitForSkill(ctx, t, key, inState(v1alpha1.SkillAwaitingApproval))
	must(t, mergePatch(ctx, sk.DeepCopy(), `{"spec":{"approval":{"contentHash":"`+sk.Status.ContentHash+`","policyHash":"`+sk.Status.PolicyHash+`"}}}`))
	sk = waitForSkill(ctx, t, key, inState(v1alpha1.SkillApproved))
	must(t, admin.Update(ctx, front("Two.")))
	waitForSkill(ctx, t, key, inState(v1alpha1.SkillNeedsReapproval))
	must(t, admin.Update(ctx, front("One.")))
	waitForSkill(ctx, t, key, inState(v1alpha1.SkillApproved))

	rev := &v1alpha1.SkillRevision{}
	must(t, admin.Get(ctx, client.ObjectKey{Namespace: ns, Name: sk.Status.Approved.RevisionName}, rev))
	part := &corev1.ConfigMap{ObjectMeta: meta(ns, rev.Spec.ConfigMapNames[0])}
	must(t, admin.Delete(ctx, part))
	must(t, wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := admin.Get(ctx, client.ObjectKeyFromObject(part), &corev1.ConfigMap{})
		return err == nil, client.IgnoreNotFound(err)
	}))
	must(t, admin.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "front"}}))
	waitForSkill(ctx, t, key, func(st *v1alpha1.SkillStatus) bool {
		return st.State == v1alpha1.SkillApproved && len(st.Conditions) > 0 && hasReason(st, v1alpha1.ReasonSourceNotFound)
	})
	// Each of the 9 changes above is read once, and a few times more while the cache has not seen what was written.
	if n := source.reads.Load(); n > 40 {
		t.Errorf("the sources were read %d times", n)
	}
}

// The end of a run is what the controller waits for that has a revision of a skill that is gone.
func TestTheEndOfARunDeletesTheRevisionOfASkillThatIsGone(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	sk := &v1alpha1.Skill{ObjectMeta: meta(ns, "send"), Spec: v1alpha1.SkillSpec{Source: inline("SKILL.md", skillMD("send", "One."))}}
	must(t, admin.Create(ctx, sk))
	startSkills(ctx, t, ns)
	sk = waitForSkill(ctx, t, client.ObjectKeyFromObject(sk), inState(v1alpha1.SkillAwaitingApproval))
	use := func(name string) *v1alpha1.MotorRun {
		run := createRun(ctx, t, ns, named(name), func(run *v1alpha1.MotorRun) { run.Spec.SkillRef = &v1alpha1.SkillRef{Name: sk.Name} })
		base := run.DeepCopy()
		run.Status.Skill = &v1alpha1.RunSkill{Name: sk.Name, RevisionName: sk.Status.RevisionName, ContentHash: sk.Status.ContentHash}
		must(t, manager.Status().Patch(ctx, run, client.MergeFrom(base)))
		confirmed, err := (&hold.Holder{Client: manager, Live: manager}).Confirm(ctx, run)
		if must(t, err); !confirmed {
			t.Fatalf("%s cannot use the revision", name)
		}
		return run
	}
	first, second := use("first"), use("second")
	must(t, admin.Delete(ctx, sk))
	gc, err := clientAs("system:serviceaccount:kube-system:generic-garbage-collector", "system:masters")
	must(t, err)
	rev := &v1alpha1.SkillRevision{}
	key := client.ObjectKey{Namespace: ns, Name: sk.Status.RevisionName}
	must(t, admin.Get(ctx, key, rev))
	base := rev.DeepCopy()
	rev.OwnerReferences = slices.DeleteFunc(rev.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "Skill" })
	must(t, gc.Patch(ctx, rev, client.MergeFrom(base)))

	must(t, admin.Delete(ctx, first))
	ended := second.DeepCopy()
	ended.Status.Phase = v1alpha1.PhaseCompleted
	ended.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonCompleted, LastTransitionTime: metav1.Now()}}
	must(t, admin.Get(ctx, key, rev))
	must(t, manager.Status().Patch(ctx, ended, client.MergeFrom(second)))
	must(t, wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := admin.Get(ctx, key, rev)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}))
}

func hasReason(st *v1alpha1.SkillStatus, reason string) bool {
	for _, c := range st.Conditions {
		if c.Reason == reason {
			return true
		}
	}
	return false
}
