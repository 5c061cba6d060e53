// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	cortexcontroller "motorcortex.dev/motorcortex/internal/controller/cortex"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/secret"
)

// cortexRig is one namespace with a MotorCortex, whose reconciler has the manager's rights and asks services that the test sets.
type cortexRig struct {
	passes
	rec *cortexcontroller.Reconciler
	// asked are the models that were asked for.
	asked []string
}

// newCortexRig makes a MotorCortex. Its services all answer.
func newCortexRig(t *testing.T, spec v1alpha1.MotorCortexSpec) *cortexRig {
	t.Helper()
	t.Parallel()
	ctx := testContext(t)
	r := &cortexRig{passes: passes{t: t, ctx: ctx, ns: newNamespace(ctx, t)}}
	c := &v1alpha1.MotorCortex{ObjectMeta: meta(r.ns, "default"), Spec: spec}
	must(t, admin.Create(ctx, c))
	r.key = client.ObjectKeyFromObject(c)
	r.rec = &cortexcontroller.Reconciler{
		Client: manager, Recorder: r,
		Models: cortex.Resolver{Cortex: manager, Secrets: manager, Default: cortex.Endpoint{BaseURL: "http://model.example.org/v1", Model: "model-0"}},
		Services: cortexcontroller.Services{
			Model: func(_ context.Context, e cortex.Endpoint) (bool, error) {
				r.asked = append(r.asked, e.Model+" at "+e.BaseURL+" "+e.APIKey.RevealText())
				return true, nil
			},
			Search: func(context.Context, *v1alpha1.SearchProvider, secret.Value) error { return nil },
		},
	}
	return r
}

// step reconciles, and once more to see that the second time changes nothing.
func (r *cortexRig) step() *v1alpha1.MotorCortex {
	r.t.Helper()
	r.pass(r.rec)
	r.passAgain(r.rec, func() map[string]string {
		return r.versionsOf(&v1alpha1.MotorCortex{})
	})
	c := &v1alpha1.MotorCortex{}
	must(r.t, admin.Get(r.ctx, r.key, c))
	return c
}

// want checks the conditions, each "TYPE STATUS REASON", all of them.
func (r *cortexRig) want(c *v1alpha1.MotorCortex, want ...string) {
	r.t.Helper()
	var is []string
	for _, condition := range c.Status.Conditions {
		is = append(is, condition.Type+" "+string(condition.Status)+" "+condition.Reason)
	}
	slices.Sort(is)
	slices.Sort(want)
	if !slices.Equal(is, want) || c.Status.ObservedGeneration != c.Generation {
		r.t.Errorf("the conditions are %q, want %q; observed generation %d of %d", is, want, c.Status.ObservedGeneration, c.Generation)
	}
}

// A MotorCortex says what is missing, and that it is there once it is.
func TestCortexSaysWhatIsMissing(t *testing.T) {
	key := &v1alpha1.SecretKeyRef{Name: "keys", Key: "motor"}
	r := newCortexRig(t, v1alpha1.MotorCortexSpec{
		Models: v1alpha1.ModelSet{Motor: &v1alpha1.ModelEndpoint{Model: "m", BaseURL: "https://theirs.example.org/v1", APIKeySecretRef: key}},
		Search: &v1alpha1.SearchProvider{Type: v1alpha1.SearchSearXNG, URL: "https://search.example.org"},
	})
	r.want(r.step(), "ModelAvailable False ModelSecretNotFound", "SearchReady True Available", "Ready False ModelSecretNotFound")
	if len(r.asked) > 0 {
		t.Errorf("a model whose key is missing was asked: %q", r.asked)
	}

	must(t, admin.Create(r.ctx, &corev1.Secret{ObjectMeta: meta(r.ns, "keys"), StringData: map[string]string{"motor": "s3cret"}}))
	r.want(r.step(), "ModelAvailable True Available", "SearchReady True Available", "Ready True Available")
	if c := r.step(); c.Status.Model != "m" {
		t.Errorf("status.model is %q", c.Status.Model)
	}
	if r.asked[0] != "m at https://theirs.example.org/v1 s3cret" {
		t.Errorf("asked %q", r.asked)
	}

	r.rec.Services.Search = func(context.Context, *v1alpha1.SearchProvider, secret.Value) error {
		return errors.New("refused\x1b[2J")
	}
	c := r.step()
	r.want(c, "ModelAvailable True Available", "SearchReady False SearchUnavailable", "Ready False SearchUnavailable")
	if m := apimeta.FindStatusCondition(c.Status.Conditions, "Ready").Message; strings.Contains(m, "\x1b") || !strings.Contains(m, "refused") {
		t.Errorf("the message is %q", m)
	}

	c.Spec.Search = nil
	must(t, admin.Update(r.ctx, c))
	r.want(r.step(), "ModelAvailable True Available", "Ready True Available")
	want := []string{"Warning ModelSecretNotFound", "Normal Available", "Warning SearchUnavailable", "Normal Available"}
	if !slices.Equal(r.events, want) {
		t.Errorf("events %q, want %q", r.events, want)
	}
}

// The model of hints is looked at if it is another; it is the same where a role falls back.
func TestCortexLooksAtEachModelOnce(t *testing.T) {
	r := newCortexRig(t, v1alpha1.MotorCortexSpec{Models: v1alpha1.ModelSet{Motor: &v1alpha1.ModelEndpoint{Model: "m"}, Fast: &v1alpha1.ModelEndpoint{Model: "f"}}})
	r.rec.Services.Model = func(_ context.Context, e cortex.Endpoint) (bool, error) {
		r.asked = append(r.asked, e.Model)
		if e.Model == "f" {
			return false, &cortexcontroller.Unavailable{Reason: v1alpha1.ReasonModelRateLimited, Message: "Too many requests."}
		}
		return e.Model != "unlisted", nil
	}
	c := r.step()
	r.want(c, "ModelAvailable False ModelRateLimited", "Ready False ModelRateLimited")
	if m := apimeta.FindStatusCondition(c.Status.Conditions, "Ready").Message; !strings.Contains(m, "spec.models.fast") {
		t.Errorf("the message is %q", m)
	}
	c.Spec.Models = v1alpha1.ModelSet{Default: &v1alpha1.ModelEndpoint{Model: "unlisted"}}
	must(t, admin.Update(r.ctx, c))
	r.asked = nil
	// The endpoint serves names that it does not list: that is remarked, and counts as ready.
	r.want(r.step(), "ModelAvailable True ModelNotListed", "Ready True Available")
	if !slices.Equal(r.asked, []string{"unlisted", "unlisted"}) {
		t.Errorf("in two passes these were asked: %q", r.asked)
	}
}

// What is missing is looked for again soon, and what is there now and then. A service that cannot be looked at changes nothing.
func TestCortexIsLookedAtAgain(t *testing.T) {
	r := newCortexRig(t, v1alpha1.MotorCortexSpec{})
	archive := false
	r.rec.Services.Archive = func(context.Context) bool { return archive }
	if res := r.pass(r.rec); res.RequeueAfter != time.Minute {
		t.Errorf("without the archive the next look is after %s", res.RequeueAfter)
	}
	r.want(r.step(), "ModelAvailable True Available", "ArchiveReady False ArchiveUnavailable", "Ready False ArchiveUnavailable")
	archive = true
	if res := r.pass(r.rec); res.RequeueAfter != 5*time.Minute {
		t.Errorf("with everything there the next look is after %s", res.RequeueAfter)
	}
	c := r.step()
	r.want(c, "ModelAvailable True Available", "ArchiveReady True Available", "Ready True Available")

	r.rec.Services.Model = func(context.Context, cortex.Endpoint) (bool, error) { return false, context.DeadlineExceeded }
	_, err := r.rec.Reconcile(r.ctx, ctrl.Request{NamespacedName: r.key})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the pass says %v", err)
	}
	again := &v1alpha1.MotorCortex{}
	must(t, admin.Get(r.ctx, r.key, again))
	if again.ResourceVersion != c.ResourceVersion {
		t.Errorf("the status was changed to %+v", again.Status)
	}
	must(t, admin.Delete(r.ctx, again))
	if res := r.pass(r.rec); res.RequeueAfter != 0 {
		t.Errorf("one that is gone is looked at again after %s", res.RequeueAfter)
	}
}

// Sums that are wrong can be cleared: with spec.budget they go, and the next budget begins anew.
func TestCortexClearsTheSumsOfABudgetThatIsGone(t *testing.T) {
	r := newCortexRig(t, v1alpha1.MotorCortexSpec{Budget: &v1alpha1.Budget{Currency: "EUR", PerDay: cost("10")}})
	c := r.step()
	before := c.DeepCopy()
	c.Status.Budget = &v1alpha1.BudgetStatus{Currency: "EUR", Day: &v1alpha1.BudgetPeriod{Period: "2026-11-27", Tokens: 9_000_000_000_000_000}}
	must(t, manager.Status().Patch(r.ctx, c, client.MergeFrom(before)))
	if c = r.step(); c.Status.Budget == nil {
		t.Error("the sums are gone with their budget still there")
	}
	must(t, mergePatch(r.ctx, c, `{"spec":{"budget":null}}`))
	if c = r.step(); c.Status.Budget != nil {
		t.Errorf("the sums are %+v", c.Status.Budget)
	}
}
