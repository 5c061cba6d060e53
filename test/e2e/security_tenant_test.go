// SPDX-License-Identifier: Apache-2.0

//go:build e2e && security

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const (
	// tenantsBytes is how many bytes of objects the tenant writes in a second, on average. The cluster's database keeps each version of an object
	// for minutes, and takes no more at 2 GiB: without this bound the test would end the cluster itself.
	tenantsBytes = 1 << 20
	// largeSkills is how many skills of the largest size there are, and fatObjects how many ConfigMaps and Services with the most metadata.
	largeSkills, fatObjects = 40, 20
	// worstRuns is how many runs of the largest size each round has.
	worstRuns = 4
)

// tenant is somebody with the role edit in one namespace, who writes what costs its readers most, each time with other contents.
type tenant struct {
	client    client.Client
	namespace string
	pace      *rate.Limiter
	// skills are the names of all skills that there are.
	skills []string
	// written counts the objects that the cluster took, by kind, and rounds how often the tenant began from the first one.
	written map[string]int
	bytes   int64
	rounds  int
}

// newTenant grants mallory the role edit in the namespace, and a place for two runs.
func newTenant(t *testing.T, namespace string) *tenant {
	t.Helper()
	must(t, suite.client.Create(t.Context(), &v1alpha1.MotorCortex{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.CortexName},
		Spec: v1alpha1.MotorCortexSpec{
			Models:      v1alpha1.ModelSet{Default: &v1alpha1.ModelEndpoint{Model: "scripted/answer", BaseURL: modelURL(modelServer)}},
			Concurrency: &v1alpha1.Concurrency{MaxActive: 2},
		},
	}))
	return &tenant{client: as(t, namespace, "mallory", "edit"), namespace: namespace, pace: rate.NewLimiter(tenantsBytes, 64<<20), written: map[string]int{}}
}

// until does the tenant's worst until the time has come, and one whole round at least.
func (w *tenant) until(ctx context.Context, end time.Time) error {
	for w.rounds == 0 || time.Now().Before(end) {
		w.rounds++
		for o := range w.objects(w.rounds) {
			if w.rounds > 1 && !time.Now().Before(end) {
				return nil
			}
			if err := w.write(ctx, o); err != nil {
				return fmt.Errorf("round %d: %T %s: %w", w.rounds, o, o.GetName(), err)
			}
		}
	}
	return nil
}

// objects are those of a round. Those with the names of an earlier round have other contents.
func (w *tenant) objects(round int) func(yield func(client.Object) bool) {
	return func(yield func(client.Object) bool) {
		hostile := hostileFiles()
		kinds := slices.Sorted(maps.Keys(hostile))
		for i := range max(largeSkills, fatObjects, len(kinds), worstRuns) {
			var list []client.Object
			if i < len(kinds) {
				list = append(list, w.skill("deep-"+kinds[i], fmt.Sprintf("# %d\n", round)+hostile[kinds[i]], 3))
			}
			if i < largeSkills {
				list = append(list, w.skill(fmt.Sprintf("large-%d", i), strings.Repeat(fmt.Sprintf("echo %d %d\n", round, i), 10<<10), 8))
			}
			if i < fatObjects {
				list = append(list, w.fatConfigMap(i, round), w.fatService(i, round))
			}
			if i < worstRuns {
				list = append(list, w.run(i, round))
			}
			for _, o := range list {
				if !yield(o) {
					return
				}
			}
		}
	}
}

// write puts an object where it is to be, at the tenant's pace.
func (w *tenant) write(ctx context.Context, o client.Object) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if err := w.pace.WaitN(ctx, min(len(text), w.pace.Burst())); err != nil {
		return err
	}
	switch err = w.client.Create(ctx, o.DeepCopyObject().(client.Object)); {
	case apierrors.IsAlreadyExists(err):
		err = w.client.Patch(ctx, o, client.RawPatch("application/merge-patch+json", text))
	case err == nil:
		if s, ok := o.(*v1alpha1.Skill); ok {
			w.skills = append(w.skills, s.Name)
		}
	}
	if err == nil {
		w.written[strings.TrimPrefix(fmt.Sprintf("%T", o), "*")]++
		w.bytes += int64(len(text))
	}
	return err
}

func (w *tenant) String() string {
	return fmt.Sprintf("%d MiB in %d rounds: %v", w.bytes>>20, w.rounds, w.written)
}

func (w *tenant) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name}
}

// skill is one with as many files of the content as fit into an object, and no more than files of them.
func (w *tenant) skill(name, content string, files int) *v1alpha1.Skill {
	s := &v1alpha1.Skill{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Skill"}, ObjectMeta: w.meta(name)}
	s.Spec.Source = &v1alpha1.SkillSource{Files: []v1alpha1.SkillFile{{Path: "SKILL.md", Content: "---\nname: " + name + "\ndescription: x\n---\n"}}}
	content = content[:min(len(content), 128<<10)]
	// The cluster stores an object with < and & written as six bytes each, and takes none of more than 1.5 MiB.
	stored, _ := json.Marshal(content)
	for i := range min(files, (1<<20-4096)/len(stored)) {
		s.Spec.Source.Files = append(s.Spec.Source.Files, v1alpha1.SkillFile{Path: fmt.Sprintf("scripts/%d.sh", i), Content: content})
	}
	return s
}

// fatLabels are as many as an object may have: with the list of who set them, which has each name again, 1.4 MB.
func fatLabels(round int) map[string]string {
	labels, prefix := map[string]string{}, strings.Repeat(strings.Repeat("p", 60)+".", 4)+"org"
	for i := range 1900 {
		labels[fmt.Sprintf("%s/%s%05d", prefix, strings.Repeat("n", 57), i)] = fmt.Sprintf("%s%08d", strings.Repeat("v", 55), round)
	}
	return labels
}

func (w *tenant) fatConfigMap(i, round int) *corev1.ConfigMap {
	c := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: w.meta(fmt.Sprintf("fat-%d", i))}
	c.Labels = fatLabels(round)
	c.Data = map[string]string{"text": fmt.Sprint("of round ", round)}
	return c
}

func (w *tenant) fatService(i, round int) *corev1.Service {
	s := &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: w.meta(fmt.Sprintf("fat-%d", i))}
	s.Labels = fatLabels(round)
	s.Spec = corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Port: 80}}}
	return s
}

// run is one that is as large as admission lets it be, and names the largest ConfigMaps.
func (w *tenant) run(i, round int) *v1alpha1.MotorRun {
	r := newRun("answer", inNamespace(w.namespace))
	r.Name = fmt.Sprintf("worst-%d-%d", round, i)
	// Stored as six bytes each.
	r.Spec.Task = strings.Repeat("<", 32<<10)
	for n := range 16 {
		r.Spec.Files = append(r.Spec.Files, v1alpha1.InputFile{Path: fmt.Sprintf("f%02d", n), Content: new(strings.Repeat("a|", 15<<10))})
	}
	for n := range min(i, fatObjects) {
		r.Spec.Files = append(r.Spec.Files, v1alpha1.InputFile{Path: fmt.Sprintf("c%02d", n), ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: fmt.Sprintf("fat-%d", n), Key: "text"}})
	}
	for n := range 64 {
		r.Spec.Domains = append(r.Spec.Domains, v1alpha1.Domain(fmt.Sprintf("%s.d%02d.example.org", strings.Repeat("a", 60), n)))
	}
	return r
}

// hostileFiles are what the parsers of the manager like least, each as large as a file of a skill in the object itself may be.
func hostileFiles() map[string]string {
	const size = 128 << 10
	files := map[string]string{}
	for name, unit := range map[string]string{
		"pipes": "a|", "lists": "a&&", "not": "! ", "conditions": "if ", "times": "time ", "arithmetic": "$((", "parameters": "${a:", "tests": "[[ ! ", "brackets": "(", "commands": "$(", "functions": "f()",
		"documents": "<<a\n", "lines": "a\n", "keys": "api_key = '", "hosts": "https://a.example/ ", "base64": "QUJD",
	} {
		files[name] = strings.Repeat(unit, size/len(unit))
	}
	return files
}
