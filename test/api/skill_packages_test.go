// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	skillstore "motorcortex.dev/motorcortex/internal/skill/store"
)

// dependent brings a skill with dependencies to its approval, in a namespace that has sources of packages unless they are nil.
func dependent(t *testing.T, name string, sources *v1alpha1.PackageSources) *skillRig {
	t.Helper()
	r := newSkillRig(t)
	if sources != nil {
		must(t, admin.Create(r.ctx, &v1alpha1.MotorCortex{ObjectMeta: meta(r.ns, v1alpha1.CortexName), Spec: v1alpha1.MotorCortexSpec{Packages: sources}}))
	}
	r.create(name, v1alpha1.SkillSpec{
		Source: inline("SKILL.md", skillMD(name, "One.")),
		Policy: v1alpha1.SkillPolicy{Dependencies: &v1alpha1.SkillDependencies{NPM: []string{"tiny@1.0.0"}, Pip: []string{"tiny==1.2"}}},
	})
	r.step()
	r.wantConditions("PackagesReady")
	if len(r.installs()) > 0 {
		t.Error("packages are installed before anybody approved them")
	}
	r.approve()
	r.step()
	return r
}

func testSources() *v1alpha1.PackageSources {
	return &v1alpha1.PackageSources{NPM: "https://npm.example.org/all/", Pip: "https://PIP.example.org:8443/simple", Apt: &v1alpha1.AptSource{URL: "https://deb.example.org/debian", Suite: "trixie", Components: []string{"main"}}, Hosts: []v1alpha1.Domain{"files.example.org"}}
}

// installs are the runs that install packages, in the order of their names.
func (r *skillRig) installs() []v1alpha1.MotorRun {
	r.t.Helper()
	var runs v1alpha1.MotorRunList
	must(r.t, admin.List(r.ctx, &runs, client.InNamespace(r.ns)))
	return slices.DeleteFunc(runs.Items, func(run v1alpha1.MotorRun) bool { return run.Spec.Mode != v1alpha1.ModeInstall })
}

// install returns the run that the status names.
func (r *skillRig) install() *v1alpha1.MotorRun {
	r.t.Helper()
	run := &v1alpha1.MotorRun{}
	must(r.t, admin.Get(r.ctx, client.ObjectKey{Namespace: r.ns, Name: r.skill().Status.Packages.RunName}, run))
	return run
}

// ends plays the engine and the controller of runs: the run has ended.
func (r *skillRig) ends(run *v1alpha1.MotorRun, archive *v1alpha1.PackageArchive) {
	r.t.Helper()
	before := run.DeepCopy()
	succeeded := metav1.ConditionFalse
	if archive != nil {
		succeeded = metav1.ConditionTrue
	}
	run.Status.Message = "The packages could not be installed: npm ended."
	run.Status.Result = &v1alpha1.RunResult{OK: archive != nil, Packages: archive}
	for _, c := range []metav1.Condition{
		{Type: v1alpha1.ConditionSucceeded, Status: succeeded}, {Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue},
	} {
		c.Reason, c.LastTransitionTime = "Test", metav1.Now()
		run.Status.Conditions = append(run.Status.Conditions, c)
	}
	must(r.t, manager.Status().Patch(r.ctx, run, client.MergeFrom(before)))
}

// archive stores what a run has installed.
func (r *skillRig) archive(content string) *v1alpha1.PackageArchive {
	r.t.Helper()
	sk := r.skill()
	names, err := skillstore.WriteChunks(r.ctx, manager, *metav1.NewControllerRef(sk, v1alpha1.GroupVersion.WithKind("Skill")), r.ns,
		sk.Name+"-packages-"+content, map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentPackages, v1alpha1.LabelSkill: sk.Name}, []byte(content))
	must(r.t, err)
	return &v1alpha1.PackageArchive{ConfigMapNames: names, SHA256: strings.Repeat("0a", 32), Size: int64(len(content))}
}

// parts are the names of the ConfigMaps of packages.
func (r *skillRig) parts() []string {
	r.t.Helper()
	var list corev1.ConfigMapList
	must(r.t, admin.List(r.ctx, &list, client.InNamespace(r.ns), client.MatchingLabels{v1alpha1.LabelComponent: v1alpha1.ComponentPackages}))
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	slices.Sort(names)
	return names
}

func TestSkillPackagesAreInstalled(t *testing.T) {
	r := dependent(t, "send", testSources())
	sk := r.want(v1alpha1.SkillApproved, "Approved")
	r.wantConditions("PackagesReady False PackagesInstalling", "Ready False PackagesInstalling", "Reconciling True PackagesInstalling")
	run := r.install()
	if want := "send-packages-" + strings.TrimPrefix(sk.Status.Packages.Hash, "sha256:")[:12]; run.Name != want || !metav1.IsControlledBy(run, sk) {
		t.Errorf("the run is %s, want %s, and its owners are %v", run.Name, want, run.OwnerReferences)
	}
	spec := run.Spec
	if diff := cmp.Diff([]v1alpha1.Domain{"files.example.org", "npm.example.org", "pip.example.org:8443"}, spec.Domains); diff != "" {
		t.Errorf("domains (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(sk.Spec.Policy.Dependencies, spec.Dependencies); diff != "" {
		t.Errorf("dependencies (-want +got):\n%s", diff)
	}
	if spec.Mode != v1alpha1.ModeInstall || spec.MaxAttempts != 1 || *spec.TTLSecondsAfterFinished != 3600 || len(spec.Credentials) > 0 || spec.ExtractSkills != v1alpha1.ExtractNever {
		t.Errorf("the spec is %+v", spec)
	}

	archive := r.archive("first")
	r.ends(run, archive)
	r.step()
	r.wantConditions("PackagesReady True PackagesInstalled", readyToUse, "Reconciling", "Stalled")
	if diff := cmp.Diff(archive, r.skill().Status.Packages.Archive); diff != "" {
		t.Errorf("archive (-want +got):\n%s", diff)
	}

	// What was installed stays when the run is gone.
	must(t, admin.Delete(r.ctx, run))
	r.step()
	r.wantConditions("PackagesReady True PackagesInstalled")
	if n := len(r.installs()); n > 0 {
		t.Errorf("there are %d runs", n)
	}

	// When a part of it is gone, it is installed again.
	must(t, admin.Delete(r.ctx, &corev1.ConfigMap{ObjectMeta: meta(r.ns, archive.ConfigMapNames[0])}))
	r.step()
	r.wantConditions("PackagesReady False PackagesInstalling")
	if p := r.skill().Status.Packages; p.Archive != nil || p.RunName != run.Name || len(r.installs()) != 1 {
		t.Errorf("packages %+v, %d runs", p, len(r.installs()))
	}
}

func TestSkillPackagesOfAnotherPolicy(t *testing.T) {
	r := dependent(t, "send", testSources())
	first, run := r.archive("first"), r.install()
	r.ends(run, first)
	r.step()
	user := createRun(r.ctx, t, r.ns, func(run *v1alpha1.MotorRun) { run.Name = "user" })
	before := user.DeepCopy()
	user.Status.Skill = &v1alpha1.RunSkill{Name: "send", RevisionName: "send-0", ContentHash: "sha256:0", Packages: first}
	must(t, manager.Status().Patch(r.ctx, user, client.MergeFrom(before)))

	r.patch(`{"policy":{"dependencies":{"npm":["tiny@2.0.0"]}}}`)
	r.step()
	r.want(v1alpha1.SkillNeedsReapproval, "PolicyChanged")
	r.wantConditions("PackagesReady")
	r.approve()
	r.step()
	r.wantConditions("PackagesReady False PackagesInstalling")
	if p := r.skill().Status.Packages; p.Archive != nil || p.RunName == run.Name {
		t.Errorf("a run could have the packages of the former policy: %+v", p)
	}
	second := r.archive("second")
	r.ends(r.install(), second)
	r.step()
	r.wantConditions("PackagesReady True PackagesInstalled")
	both := append(slices.Clone(first.ConfigMapNames), second.ConfigMapNames...)

	// The former packages stay for a while, and then for as long as a run has them.
	if diff := cmp.Diff(both, r.parts()); diff != "" {
		t.Errorf("at once (-want +got):\n%s", diff)
	}
	r.now = r.now.Add(11 * time.Minute)
	r.step()
	if diff := cmp.Diff(both, r.parts()); diff != "" {
		t.Errorf("while a run has them (-want +got):\n%s", diff)
	}
	r.ends(user, nil)
	r.step()
	if diff := cmp.Diff(second.ConfigMapNames, r.parts()); diff != "" {
		t.Errorf("at last (-want +got):\n%s", diff)
	}

	// Another source of packages is another installation, and no dependencies need none.
	must(t, mergePatch(r.ctx, &v1alpha1.MotorCortex{ObjectMeta: meta(r.ns, v1alpha1.CortexName)}, `{"spec":{"packages":{"npm":"https://mirror.example.org/"}}}`))
	r.step()
	r.wantConditions("PackagesReady False PackagesInstalling")
	if got := r.install().Spec.Domains; !slices.Contains(got, "mirror.example.org") {
		t.Errorf("domains %v", got)
	}
	r.patch(`{"policy":{"dependencies":null}}`)
	r.approve()
	r.step()
	r.approve()
	r.step()
	r.wantConditions("PackagesReady", readyToUse)
	if p := r.skill().Status.Packages; p != nil || len(r.parts()) > 0 {
		t.Errorf("packages %+v, parts %v", p, r.parts())
	}
}

func TestSkillPackagesFail(t *testing.T) {
	r := dependent(t, "send", testSources())
	run := r.install()
	r.ends(run, nil)
	r.step()
	r.wantConditions("PackagesReady False PackagesFailed", "Ready False PackagesFailed", "Stalled True PackagesFailed")
	c := r.condition(v1alpha1.ConditionPackagesReady)
	for _, part := range []string{"npm ended.", run.Name, "when you delete it"} {
		if !strings.Contains(c.Message, part) {
			t.Errorf("the message does not say %q: %s", part, c.Message)
		}
	}
	must(t, admin.Delete(r.ctx, run))
	r.step()
	r.wantConditions("PackagesReady False PackagesInstalling")
	again := r.install()
	if again.UID == run.UID {
		t.Error("it is the same run")
	}

	// One that waits for somebody says for what.
	before := again.DeepCopy()
	again.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: "DomainNotAllowed", Message: "Not within the bounds.", LastTransitionTime: metav1.Now()}}
	must(t, manager.Status().Patch(r.ctx, again, client.MergeFrom(before)))
	r.step()
	if c := r.condition(v1alpha1.ConditionPackagesReady); c.Reason != v1alpha1.ReasonPackagesInstalling || !strings.Contains(c.Message, "Not within the bounds.") {
		t.Errorf("the condition is %+v", c)
	}
}

func TestSkillPackagesWithoutASource(t *testing.T) {
	r := dependent(t, "send", nil)
	r.wantConditions("PackagesReady False NoPackageSource", "Ready False NoPackageSource", "Stalled True NoPackageSource")
	if c := r.condition(v1alpha1.ConditionPackagesReady); !strings.Contains(c.Message, "spec.packages.npm") {
		t.Errorf("the message is %s", c.Message)
	}
	must(t, admin.Create(r.ctx, &v1alpha1.MotorCortex{ObjectMeta: meta(r.ns, v1alpha1.CortexName), Spec: v1alpha1.MotorCortexSpec{
		Packages: &v1alpha1.PackageSources{NPM: "https://npm.example.org"},
	}}))
	r.step()
	if c := r.condition(v1alpha1.ConditionPackagesReady); c.Reason != v1alpha1.ReasonNoPackageSource || !strings.Contains(c.Message, "spec.packages.pip") {
		t.Errorf("the condition is %+v", c)
	}
	if n := len(r.installs()); n > 0 {
		t.Errorf("there are %d runs", n)
	}
}

func TestSkillPackagesOfALongName(t *testing.T) {
	name := "a" + strings.Repeat("-long", 12)
	r := dependent(t, name, testSources())
	if run := r.install(); len(run.Name) > 48 || !strings.HasPrefix(run.Name, "a-long-long-long") {
		t.Errorf("the run is %s", run.Name)
	}
}

// A run of that name that somebody else made is not believed.
func TestSkillPackagesOfAForeignRun(t *testing.T) {
	r := dependent(t, "send", testSources())
	run := r.install()
	must(t, admin.Delete(r.ctx, run))
	foreign := createRun(r.ctx, t, r.ns, func(o *v1alpha1.MotorRun) { o.Name = run.Name })
	r.ends(foreign, r.archive("forged"))
	r.step()
	r.wantConditions("PackagesReady False PackagesFailed")
	if p := r.skill().Status.Packages; p.Archive != nil {
		t.Errorf("packages %+v", p)
	}
}
