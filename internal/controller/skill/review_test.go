// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/skill"
	skillstore "motorcortex.dev/motorcortex/internal/skill/store"
)

// reviewRig has a revision; write decides the result of each write of its facts.
type reviewRig struct {
	t      *testing.T
	client client.Client
	store  *skillstore.Store
	skill  *v1alpha1.Skill
	stored *v1alpha1.SkillRevision
	write  func() error
}

func newReviewRig(t *testing.T, more ...skill.File) *reviewRig {
	t.Helper()
	scheme := apiruntime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	g := &reviewRig{t: t, skill: &v1alpha1.Skill{}, write: func() error { return nil }}
	g.client = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.SkillRevision{}).WithInterceptorFuncs(interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if rev, ok := o.(*v1alpha1.SkillRevision); ok && rev.Status.ReviewTime != nil {
				if err := g.write(); err != nil {
					return err
				}
			}
			// A client sends nothing for who has gone.
			if err := ctx.Err(); err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	}).Build()
	g.skill.Name, g.skill.Namespace, g.skill.UID = "send", "default", "u"
	g.store = &skillstore.Store{Client: g.client, Live: g.client}
	_, files, err := skill.Check("send", append([]skill.File{{Path: "SKILL.md", Content: []byte("---\nname: send\ndescription: Sends.\n---\n")}}, more...))
	if err != nil {
		t.Fatal(err)
	}
	g.stored, err = g.store.Put(t.Context(), g.skill, v1alpha1.SkillRevisionSpec{SkillName: "send", Description: "Sends."}, files)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// process returns a Reconciler that has reviewed nothing so far.
func (g *reviewRig) process() *Reconciler {
	return &Reconciler{Client: g.client, Store: g.store, Now: time.Now}
}

// look has a process review the revision, and returns the status after that. A panic stands for the end of the process.
func (g *reviewRig) look(ctx context.Context, r *Reconciler) (st v1alpha1.SkillRevisionStatus, ended any, err error) {
	g.t.Helper()
	rev := &v1alpha1.SkillRevision{}
	if err := g.client.Get(context.WithoutCancel(ctx), client.ObjectKeyFromObject(g.stored), rev); err != nil {
		g.t.Fatal(err)
	}
	func() {
		defer func() { ended = recover() }()
		err = r.gather(ctx, newScope(g.skill, r.memories.of(g.skill), time.Now()), rev)
	}()
	if getErr := g.client.Get(context.WithoutCancel(ctx), client.ObjectKeyFromObject(g.stored), rev); getErr != nil {
		g.t.Fatal(getErr)
	}
	return rev.Status, ended, err
}

// TestReviewIsMarkedFirst has processes end after the mark and before the facts: the third one leaves the files alone.
func TestReviewIsMarkedFirst(t *testing.T) {
	g := newReviewRig(t)
	g.write = func() error { panic("the process has ended") }
	for process := range int32(2) {
		r := g.process()
		// A panic that the controller recovers from is counted once, however often it comes.
		for range 3 {
			if st, ended, err := g.look(t.Context(), r); ended == nil || st.ReviewStarts != process+1 {
				t.Fatalf("process %d: %v, %v, %+v", process, ended, err, st)
			}
		}
	}
	if st, ended, err := g.look(t.Context(), g.process()); err != nil || ended != nil || st.ReviewStarts != 2 || st.ReviewTime != nil {
		t.Errorf("the third process: %v, %v, %+v", ended, err, st)
	}
}

// TestOrderlyEndsOfAReviewAreNotCounted ends reviews without their facts, in ways that show nothing about the files.
func TestOrderlyEndsOfAReviewAreNotCounted(t *testing.T) {
	g := newReviewRig(t)
	errRefused := errors.New("the API server has a bad minute")
	g.write = func() error { return errRefused }
	for range 3 {
		if st, _, err := g.look(t.Context(), g.process()); !errors.Is(err, errRefused) || st.ReviewStarts != 0 {
			t.Fatalf("refused: %v, %+v", err, st)
		}
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if st, _, err := g.look(stopped, g.process()); !errors.Is(err, context.Canceled) || st.ReviewStarts != 0 || st.ReviewTime != nil {
		t.Errorf("begun after the manager was told to stop: %v, %+v", err, st)
	}
	// A manager that must stop in the middle of a review writes the facts that it has.
	stopped, stop = context.WithCancel(t.Context())
	defer stop()
	g.write = func() error { stop(); return nil }
	if st, _, err := g.look(stopped, g.process()); err != nil || st.ReviewStarts != 0 || st.ReviewTime == nil {
		t.Errorf("stopped in the middle: %v, %+v", err, st)
	}
}

// TestReviewsTakeTurns has a long review wait while another skill of its namespace is reviewed, without a mark and without an error.
func TestReviewsTakeTurns(t *testing.T) {
	now := time.Now()
	busy := func(g *reviewRig) *Reconciler {
		r := g.process()
		if _, ok := r.reviewTurns.begin(g.skill.Namespace, now, maxReviews(), reviewRetry); !ok {
			t.Fatal("there is no place")
		}
		return r
	}
	short := newReviewRig(t)
	if st, _, err := short.look(t.Context(), busy(short)); err != nil || st.ReviewTime == nil {
		t.Errorf("a short one beside another one: %v, %+v", err, st)
	}
	long := newReviewRig(t, skill.File{Path: "references/long.md", Content: []byte(strings.Repeat("a\n", quickReview/2))})
	r := busy(long)
	if st, _, err := long.look(t.Context(), r); err != nil || st.ReviewStarts != 0 || st.ReviewTime != nil {
		t.Errorf("a long one beside another one: %v, %+v", err, st)
	}
	r.reviewTurns.end(long.skill.Namespace, now, 0, reviewRetry)
	if st, _, err := long.look(t.Context(), r); err != nil || st.ReviewTime == nil {
		t.Errorf("in its turn: %v, %+v", err, st)
	}
}

func TestOutlasting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, stop := context.WithCancel(t.Context())
		ctx, cancel := outlasting(parent, 8*time.Second)
		defer cancel()
		stop()
		<-time.After(8*time.Second - 1)
		synctest.Wait()
		if ctx.Err() != nil {
			t.Error("it ends too early")
		}
		<-time.After(1)
		synctest.Wait()
		if ctx.Err() == nil {
			t.Error("it does not end")
		}
	})
}
