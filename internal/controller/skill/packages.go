// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/objects"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/skill"
)

// Runs are created to install packages, and for nothing else: an admission policy sees to that.
// +kubebuilder:rbac:groups=motorcortex.dev,resources=motorruns,verbs=create

const (
	// installSeconds bounds the time of a run that installs packages.
	installSeconds = 900
	// installKept is how long such a run is retained, and so how long a failed installation is not tried again.
	installKept = 3600
	// packagesGrace is how long replaced packages are retained: the status of a run that was accepted a moment before may not show yet that it uses
	// them.
	packagesGrace = 10 * time.Minute
)

// packages ensures that the packages of an approved policy are installed, by a run of mode Install that belongs to the skill. Packages that are not
// approved are not installed, and installed packages stay.
//
//	no run ──► a run: PackagesInstalling ──► PackagesInstalled
//	  ▲                      └─────────────► PackagesFailed ──► its time is over, or it is deleted ───────┐
//	  └───────────────────────────────────────────────────────────────────────────────────────────────────┘
func (r *Reconciler) packages(ctx context.Context, s *scope) error {
	st, deps := &s.skill.Status, s.skill.Spec.Policy.Dependencies
	if !skill.HasPackages(deps) {
		st.Packages = nil
		s.unset(v1alpha1.ConditionPackagesReady)
		return r.sweepPackages(ctx, s)
	}
	if s.verdict.State != v1alpha1.SkillApproved {
		s.unset(v1alpha1.ConditionPackagesReady)
		return nil
	}
	sources, err := r.packageSources(ctx, s.skill.Namespace)
	if err != nil {
		return err
	}
	hash := skill.PackagesHash(deps, sources)
	if st.Packages == nil || st.Packages.Hash != hash {
		// Runs that are pinned from now on must not have the packages of another policy.
		st.Packages = &v1alpha1.SkillPackages{Hash: hash}
	}
	if st.Packages.Archive != nil {
		if whole, err := r.hasArchive(ctx, s.skill, st.Packages.Archive); err != nil || whole {
			if err == nil {
				s.installed(st.Packages.Archive)
				err = r.sweepPackages(ctx, s)
			}
			return err
		}
		st.Packages.Archive = nil
	}
	domains, missing := packageHosts(deps, sources)
	if missing != "" {
		s.set(v1alpha1.ConditionPackagesReady, metav1.ConditionFalse, v1alpha1.ReasonNoPackageSource, missing)
		return nil
	}
	return r.installPackages(ctx, s, domains)
}

// packageSources returns the sources of the namespace's MotorCortex, nil if it has none.
func (r *Reconciler) packageSources(ctx context.Context, namespace string) (*v1alpha1.PackageSources, error) {
	c, err := cortex.Get(ctx, r, namespace)
	if err != nil {
		return nil, err
	}
	return c.Spec.Packages, nil
}

// packageHosts returns the hosts that packages are installed from. missing is the message about packages without an address to install them from,
// "" if every kind has one.
func packageHosts(deps *v1alpha1.SkillDependencies, sources *v1alpha1.PackageSources) (hosts []v1alpha1.Domain, missing string) {
	if sources == nil {
		sources = &v1alpha1.PackageSources{}
	}
	for _, index := range skill.Indexes(deps, sources) {
		u, err := url.Parse(index.URL)
		if err != nil || u.Host == "" {
			return nil, fmt.Sprintf("The skill has %s packages, and spec.packages.%s of the namespace's MotorCortex says no address to install them from.", index.Kind, index.Kind)
		}
		hosts = append(hosts, v1alpha1.Domain(strings.ToLower(u.Host)))
	}
	hosts = append(hosts, sources.Hosts...)
	slices.Sort(hosts)
	return slices.Compact(hosts), ""
}

// installPackages checks the state of the run that installs them, and creates it if there is none.
func (r *Reconciler) installPackages(ctx context.Context, s *scope, domains []v1alpha1.Domain) error {
	sk, packages := s.skill, s.skill.Status.Packages
	packages.RunName = runpolicy.InstallRunName(sk.Name, packages.Hash)
	var run v1alpha1.MotorRun
	err := r.Get(ctx, types.NamespacedName{Namespace: sk.Namespace, Name: packages.RunName}, &run)
	switch {
	case apierrors.IsNotFound(err):
		s.set(v1alpha1.ConditionPackagesReady, metav1.ConditionFalse, v1alpha1.ReasonPackagesInstalling, installingMessage(packages.RunName))
		return r.createInstallRun(ctx, s, domains)
	case err != nil:
		return fmt.Errorf("get the run %s: %w", packages.RunName, err)
	case !metav1.IsControlledBy(&run, sk) || run.Spec.Mode != v1alpha1.ModeInstall:
		s.set(v1alpha1.ConditionPackagesReady, metav1.ConditionFalse, v1alpha1.ReasonPackagesFailed, fmt.Sprintf(
			"There is a run %s that is not of this skill. The packages are installed when it is deleted.", run.Name))
		s.Wake(s.Now.Add(pass.MaxPause))
		return nil
	case !pass.IsFinished(&run) || !run.DeletionTimestamp.IsZero():
		s.set(v1alpha1.ConditionPackagesReady, metav1.ConditionFalse, v1alpha1.ReasonPackagesInstalling, waitingMessage(&run))
		return nil
	case !apimeta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionSucceeded) || run.Status.Result == nil || run.Status.Result.Packages == nil:
		s.set(v1alpha1.ConditionPackagesReady, metav1.ConditionFalse, v1alpha1.ReasonPackagesFailed, fmt.Sprintf(
			"%s It is tried again when the run %s is gone, an hour after its end or when you delete it.", run.Status.Message, run.Name))
		return nil
	}
	archive := run.Status.Result.Packages
	whole, err := r.hasArchive(ctx, sk, archive)
	switch {
	case err != nil:
		return err
	case !whole:
		// The installed archive was deleted.
		s.set(v1alpha1.ConditionPackagesReady, metav1.ConditionFalse, v1alpha1.ReasonPackagesInstalling, installingMessage(run.Name))
		return client.IgnoreNotFound(objects.Delete(ctx, r.Client, &run))
	}
	packages.Archive = archive.DeepCopy()
	s.installed(archive)
	return nil
}

func installingMessage(run string) string {
	return fmt.Sprintf("The run %s installs the packages.", run)
}

// waitingMessage names what the run waits for, if a person must change that.
func waitingMessage(run *v1alpha1.MotorRun) string {
	if c := apimeta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionStalled); c != nil && c.Status == metav1.ConditionTrue {
		return installingMessage(run.Name) + " It waits: " + c.Message
	}
	return installingMessage(run.Name)
}

func (s *scope) installed(a *v1alpha1.PackageArchive) {
	s.set(v1alpha1.ConditionPackagesReady, metav1.ConditionTrue, v1alpha1.ReasonPackagesInstalled,
		fmt.Sprintf("The packages are installed and take %d KiB.", (a.Size+1023)>>10))
}

func (r *Reconciler) createInstallRun(ctx context.Context, s *scope, domains []v1alpha1.Domain) error {
	run := &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{
			Name: s.skill.Status.Packages.RunName, Namespace: s.skill.Namespace,
			Labels:          map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, v1alpha1.LabelSkill: v1alpha1.SkillLabel(s.skill.Name)},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s.skill, v1alpha1.GroupVersion.WithKind("Skill"))},
		},
		Spec: v1alpha1.MotorRunSpec{
			Mode: v1alpha1.ModeInstall, Dependencies: s.skill.Spec.Policy.Dependencies.DeepCopy(), Domains: domains,
			ExtractSkills: v1alpha1.ExtractNever, MaxAttempts: 1, Limits: v1alpha1.RunLimits{ActiveDeadlineSeconds: installSeconds},
			TTLSecondsAfterFinished: new(int32(installKept)),
		},
	}
	err := r.Create(ctx, run)
	switch {
	case apierrors.IsAlreadyExists(err):
		return errOldCache
	case objects.Refused(err):
		s.set(v1alpha1.ConditionPackagesReady, metav1.ConditionFalse, v1alpha1.ReasonPackagesFailed, fmt.Sprintf(
			"The API server refused the run that installs the packages: %v.", err))
		s.Wake(s.Now.Add(pass.MaxPause))
		return nil
	case err != nil:
		return fmt.Errorf("create the run %s: %w", run.Name, err)
	}
	return nil
}

// hasArchive reports whether all parts of an archive are there. It asks the API server for parts that the cache does not have.
func (r *Reconciler) hasArchive(ctx context.Context, sk *v1alpha1.Skill, a *v1alpha1.PackageArchive) (bool, error) {
	for _, name := range a.ConfigMapNames {
		found := false
		for _, reader := range []client.Reader{r.Heads, r.Live} {
			cm, err := configMapHead(ctx, reader, sk.Namespace, name)
			if err != nil {
				return false, err
			}
			if found = cm != nil && metav1.IsControlledBy(cm, sk) && cm.DeletionTimestamp == nil; found {
				break
			}
		}
		if !found {
			return false, nil
		}
	}
	return len(a.ConfigMapNames) > 0, nil
}

// sweepPackages deletes the parts of replaced archives, when no run uses them any more.
func (r *Reconciler) sweepPackages(ctx context.Context, s *scope) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	err := r.Heads.List(ctx, list, client.InNamespace(s.skill.Namespace),
		client.MatchingLabels{v1alpha1.LabelComponent: v1alpha1.ComponentPackages, v1alpha1.LabelSkill: v1alpha1.SkillLabel(s.skill.Name)})
	if err != nil {
		return fmt.Errorf("list the ConfigMaps of packages: %w", err)
	}
	var used []string
	if p := s.skill.Status.Packages; p != nil {
		used = p.Archive.ConfigMapNames
	}
	isUsed := func(cm metav1.PartialObjectMetadata) bool {
		return slices.Contains(used, cm.Name) || !metav1.IsControlledBy(&cm, s.skill)
	}
	if list.Items = slices.DeleteFunc(list.Items, isUsed); len(list.Items) == 0 {
		return nil
	}
	if c := s.condition(v1alpha1.ConditionPackagesReady); c != nil {
		if over := c.LastTransitionTime.Add(packagesGrace); s.Now.Before(over) {
			s.Wake(over)
			return nil
		}
	}
	if used, err = r.packagesInUse(ctx, s.skill); err != nil {
		return err
	}
	for i := range list.Items {
		cm := &list.Items[i]
		if isUsed(*cm) {
			continue // The end of the run wakes the skill.
		}
		if err := objects.Delete(ctx, r.Client, cm); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete the ConfigMap %s: %w", cm.Name, err)
		}
	}
	return nil
}

// packagesInUse returns the ConfigMaps that sandboxes of runs have, or will have when they are made again.
func (r *Reconciler) packagesInUse(ctx context.Context, sk *v1alpha1.Skill) ([]string, error) {
	var runs v1alpha1.MotorRunList
	if err := r.List(ctx, &runs, client.InNamespace(sk.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	var names []string
	for i := range runs.Items {
		run := &runs.Items[i]
		if u := run.Status.Skill; u != nil && u.Name == sk.Name && u.Packages != nil && !pass.IsFinished(run) {
			names = append(names, u.Packages.ConfigMapNames...)
		}
	}
	return names, nil
}
