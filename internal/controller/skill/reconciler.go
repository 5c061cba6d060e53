// SPDX-License-Identifier: Apache-2.0

// Package skill reconciles Skills: from the source to a revision, the facts about its files, its state, its packages, and its usage.
package skill

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/hold"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	skillsource "motorcortex.dev/motorcortex/internal/skill/source"
	skillstore "motorcortex.dev/motorcortex/internal/skill/store"
)

// Skills are created for the files that runs wrote, without an approval. The controller never changes the spec of a Skill: an admission policy
// ensures that too.
// +kubebuilder:rbac:groups=motorcortex.dev,resources=skills,verbs=get;list;watch;create
// +kubebuilder:rbac:groups=motorcortex.dev,resources=skills/status,verbs=patch
// +kubebuilder:rbac:groups=motorcortex.dev,resources=skills/finalizers,verbs=update
// The controller patches the owner references of a SkillRevision that a run uses, and marks one that is going to be deleted.
// +kubebuilder:rbac:groups=motorcortex.dev,resources=skillrevisions,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=motorcortex.dev,resources=skillrevisions/status,verbs=patch
// +kubebuilder:rbac:groups=motorcortex.dev,resources=skillrevisions/finalizers,verbs=update
// The controller watches the metadata of ConfigMaps: a change of one that a skill's files come from revokes the approval at once.
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=list;watch
// +kubebuilder:rbac:groups=source.toolkit.fluxcd.io,resources=gitrepositories;ocirepositories;buckets,verbs=get

// maxPasses is the number of skills that are reconciled at the same time. Each may hold the files of one, 10 MiB.
const maxPasses = 8

// Source reads the files of a skill from their origin.
type Source interface {
	// Read returns the files as they are. An error that is no *skillsource.Problem is one of the API server.
	Read(ctx context.Context, namespace string, s *v1alpha1.SkillSource) (skillsource.Read, error)
}

// Reconciler converges Skills. It reads their sources, stores the files as SkillRevisions, gathers facts about the files, and reports whether the
// approved content is the present one. It decides about no approval and never writes a spec.
type Reconciler struct {
	client.Client
	// Live reads past the cache, which has Skills without the contents of their files.
	Live client.Reader
	// Heads reads the metadata of ConfigMaps, of which the cache has nothing else.
	Heads    client.Reader
	Recorder events.EventRecorder
	Source   Source
	Store    *skillstore.Store
	Now      func() time.Time

	// indexed is true if the cache has hold.IndexSkill.
	indexed     bool
	memories    memories
	remoteReads turns
	reviewTurns turns
	reviews     sync.RWMutex
}

// SetupWithManager registers the reconciler. Like every controller it runs in the leader only.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	if err := hold.AddIndex(context.Background(), mgr.GetFieldIndexer()); err != nil {
		return err
	}
	r.indexed = true
	return ctrl.NewControllerManagedBy(mgr).
		Named("skill").
		For(&v1alpha1.Skill{}).
		Watches(&v1alpha1.SkillRevision{}, handler.EnqueueRequestsFromMapFunc(skillOfRevision)).
		Owns(&v1alpha1.MotorRun{}).
		Watches(&v1alpha1.MotorRun{}, handler.EnqueueRequestsFromMapFunc(skillOfRun), builder.WithPredicates(hold.Ends())).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.skillsOfConfigMap), builder.OnlyMetadata).
		Watches(&v1alpha1.MotorCortex{}, handler.EnqueueRequestsFromMapFunc(r.skillsWithPackages),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(pass.Options(maxPasses)).
		Complete(r)
}

// errOldCache means that the cache is behind a live read of the pass.
var errOldCache = errors.New("the cache is behind")

// Reconcile updates one skill and writes its status once.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	sk := &v1alpha1.Skill{}
	err := r.Get(ctx, req.NamespacedName, sk)
	if apierrors.IsNotFound(err) || err == nil && !sk.DeletionTimestamp.IsZero() {
		// Its revisions are its own. The garbage collector deletes those that no run has used.
		r.memories.forget(req.NamespacedName)
		s := &pass.Pass{Now: r.Now()}
		return result(s, r.letGoFormer(ctx, s, req.NamespacedName))
	}
	if err != nil {
		return pass.Retry(), err
	}
	s := newScope(sk, r.memories.of(sk), r.Now())
	err = r.converge(ctx, s)
	if err == nil {
		err = r.writeStatus(ctx, s)
	}
	if err == nil {
		s.memory.read = s.read
		err = r.discard(ctx, s)
	}
	if err == nil {
		err = r.letGoFormer(ctx, &s.Pass, req.NamespacedName)
	}
	return result(&s.Pass, err)
}

// result returns when there is another pass after one with that error.
func result(s *pass.Pass, err error) (ctrl.Result, error) {
	if apierrors.IsConflict(err) || errors.Is(err, errOldCache) {
		// Another writer changed an object since it was read; the watch brings the new version.
		return pass.Again(pass.ConflictPause), nil
	}
	if err != nil {
		return pass.Retry(), err
	}
	return s.Result(), nil
}

// converge takes the steps in order. Each sets its own condition, and each is taken in every pass: a source that cannot be read does not prevent an
// approval from ending.
//
//	revisions → source → review → policy → decide → packages → usage
func (r *Reconciler) converge(ctx context.Context, s *scope) error {
	for _, st := range []struct {
		name string
		take func(context.Context, *scope) error
	}{
		{"revisions", r.revisions},
		{"source", r.source},
		{"review", r.review},
		{"policy", r.policy},
		{"decide", r.decide},
		{"packages", r.packages},
		{"usage", r.usage},
	} {
		if err := st.take(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", st.name, err)
		}
	}
	return nil
}

// writeStatus writes the changes of the steps, in one patch, and then reports the transitions as Events.
func (r *Reconciler) writeStatus(ctx context.Context, s *scope) error {
	s.summarize()
	pass.PrintSkill(&s.skill.Status)
	if !s.changed() {
		return nil
	}
	patch := client.MergeFromWithOptions(s.before, client.MergeFromWithOptimisticLock{})
	if err := r.Status().Patch(ctx, s.skill, patch); err != nil {
		return client.IgnoreNotFound(err)
	}
	pass.Tell(r.Recorder, s.skill, transitions(s.before, s.skill))
	return nil
}
