// SPDX-License-Identifier: Apache-2.0

//go:build e2e && security

package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// hostileFiles are what the parsers of the manager like least, each as large as a skill may be in the object itself.
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

// A tenant with nothing but edit does its worst to whoever reads its skills. The runs of another one go on meanwhile, and no manager ends.
func TestSecurityParsersHold(t *testing.T) {
	t.Parallel()
	ns, other := newNamespace(t, "parsers"), modelNamespace(t, "beside")
	role := `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: editor, namespace: ` + ns + `}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: mallory}]
`
	if _, stderr, err := tryKubectl(t.Context(), role, "apply", "-f", "-"); err != nil {
		t.Fatal(err, stderr)
	}
	before, memory := restartsOfManagers(t), watchMemory(t)
	var names []string
	for kind, content := range hostileFiles() {
		s := &v1alpha1.Skill{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Skill"}, ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "deep-" + kind}}
		files := []v1alpha1.SkillFile{{Path: "SKILL.md", Content: "---\nname: " + s.Name + "\ndescription: x\n---\n"}}
		// The cluster stores an object with < and & written as six bytes each, and takes none of more than 1.5 MiB.
		stored, err := json.Marshal(content)
		must(t, err)
		for i := range min(3, 1<<20/len(stored)) {
			files = append(files, v1alpha1.SkillFile{Path: fmt.Sprintf("scripts/%d.sh", i), Content: content})
		}
		s.Spec.Source = &v1alpha1.SkillSource{Files: files}
		manifest, err := json.Marshal(s)
		must(t, err)
		if _, stderr, err := tryKubectl(t.Context(), string(manifest), "--as=mallory", "create", "-f", "-"); err != nil {
			t.Fatal(err, stderr)
		}
		names = append(names, s.Name)
	}
	for range 3 {
		run := startRun(t, "answer", func(r *v1alpha1.MotorRun) { r.Namespace = other })
		wantCompleted(t, run, 2*soon)
	}
	for _, name := range names {
		awaitSkill(t, ns, name, 4*soon, "reviewed", func(s *v1alpha1.Skill) bool { return s.Status.State == v1alpha1.SkillReviewed })
	}
	for name, n := range restartsOfManagers(t) {
		if was, there := before[name]; there && n != was {
			t.Errorf("the manager %s was started %d times more", name, n-was)
		}
	}
	const most = 256 << 20
	for name, bytes := range memory() {
		t.Logf("the manager %s had %d MiB at most", name, bytes>>20)
		if bytes >= most {
			t.Errorf("the manager %s had %d bytes, and may have less than %d", name, bytes, most)
		}
	}
}

// watchMemory notes the working set of each manager, as its node's kubelet measures it, until the function that it gives is called. That
// gives the most of each.
func watchMemory(t *testing.T) (most func() map[string]uint64) {
	t.Helper()
	pods, err := managerPods(t.Context())
	must(t, err)
	nodes := map[string]bool{}
	for i := range pods {
		nodes[pods[i].Spec.NodeName] = true
	}
	ctx, stop := context.WithCancel(t.Context())
	peaks, ended := map[string]uint64{}, make(chan error, 1)
	go func() {
		// A kubelet measures every ten seconds or so: more often tells no more.
		ended <- wait.PollUntilContextCancel(ctx, 3*time.Second, true, func(ctx context.Context) (bool, error) {
			for node := range nodes {
				if err := noteMemory(ctx, node, peaks); err != nil && ctx.Err() == nil {
					return false, err
				}
			}
			return false, nil
		})
	}()
	t.Cleanup(stop)
	return func() map[string]uint64 {
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("read the memory of the managers: %v", err)
		}
		if len(peaks) == 0 {
			t.Error("no kubelet tells how much memory a manager has")
		}
		return peaks
	}
}

// noteMemory keeps the larger one of what is known and what the managers on a node have now.
func noteMemory(ctx context.Context, node string, peaks map[string]uint64) error {
	raw, err := suite.clientset.CoreV1().RESTClient().Get().Resource("nodes").Name(node).SubResource("proxy").Suffix("stats/summary").DoRaw(ctx)
	if err != nil {
		return err
	}
	var summary struct {
		Pods []struct {
			PodRef     struct{ Name, Namespace string }
			Containers []struct {
				Memory struct{ WorkingSetBytes uint64 }
			}
		}
	}
	if err := json.Unmarshal(raw, &summary); err != nil {
		return err
	}
	for _, p := range summary.Pods {
		if p.PodRef.Namespace != managerNamespace || !strings.HasPrefix(p.PodRef.Name, "motorcortex-manager-") {
			continue
		}
		for _, c := range p.Containers {
			peaks[p.PodRef.Name] = max(peaks[p.PodRef.Name], c.Memory.WorkingSetBytes)
		}
	}
	return nil
}

// restartsOfManagers is how often each manager was started again.
func restartsOfManagers(t *testing.T) map[string]int32 {
	t.Helper()
	pods, err := managerPods(t.Context())
	must(t, err)
	list := map[string]int32{}
	for i := range pods {
		list[pods[i].Name] = restarts(&pods[i])
	}
	return list
}
