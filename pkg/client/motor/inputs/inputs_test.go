// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func runWith(sizes ...int) *v1alpha1.MotorRun {
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", GenerateName: "run-"}}
	for i, n := range sizes {
		run.Spec.Files = append(run.Spec.Files, v1alpha1.InputFile{Path: string(rune('a' + i)), Content: new(strings.Repeat(string(rune('a'+i)), n))})
	}
	return run
}

// Small files stay where they are: a ConfigMap would cost more writes than it saves.
func TestTheLargestFilesAreBesideTheRun(t *testing.T) {
	t.Parallel()
	binary := runWith(1)
	binary.Spec.Files[0].Content = new(strings.Repeat("\xff", 2*InlineBytes))
	referred := runWith(1)
	referred.Spec.Files[0].Content, referred.Spec.Files[0].ConfigMapKeyRef = nil, &v1alpha1.ConfigMapKeyRef{Name: "c", Key: "k"}
	for name, tt := range map[string]struct {
		run  *v1alpha1.MotorRun
		want []string
	}{
		"none":                  {runWith(), nil},
		"all that may stay":     {runWith(InlineBytes-10, 10), nil},
		"one too large":         {runWith(InlineBytes + 1), []string{"file-0"}},
		"the largest":           {runWith(10, InlineBytes, 20), []string{"file-1"}},
		"as many as it needs":   {runWith(9<<10, 10<<10, 9<<10), []string{"file-0", "file-1"}},
		"more than a ConfigMap": {runWith(maxBytes, InlineBytes+1), nil},
		"no text":               {binary, nil},
		"a reference":           {referred, nil},
	} {
		cm := beside(tt.run)
		if cm == nil {
			if tt.want != nil {
				t.Errorf("%s: nothing is beside it", name)
			}
			continue
		}
		if got := slices.Sorted(maps.Keys(cm.Data)); !slices.Equal(got, tt.want) || cm.Namespace != "ns" || !*cm.Immutable {
			t.Errorf("%s: %v of %s/%s, want %v", name, got, cm.Namespace, cm.Name, tt.want)
		}
	}
}

// cluster refuses what fails names, and keeps what it was asked in order.
type cluster struct {
	fails map[string]error
	// silent is true if creating a run ends without an answer.
	silent bool
	asked  []string
	maps   map[string]*corev1.ConfigMap
	run    *v1alpha1.MotorRun
}

func (c *cluster) ask(what string) error {
	c.asked = append(c.asked, what)
	return c.fails[what]
}

// Create implements ConfigMaps.
func (c *cluster) Create(_ context.Context, cm *corev1.ConfigMap) error {
	if err := c.ask("create"); err != nil {
		return err
	}
	c.maps[cm.Name] = cm
	return nil
}

// Read implements ConfigMaps.
func (c *cluster) Read(context.Context, string) error { return c.ask("read") }

// Own implements ConfigMaps.
func (c *cluster) Own(_ context.Context, name string, owner metav1.OwnerReference) error {
	if err := c.ask("own"); err != nil {
		return err
	}
	c.maps[name].OwnerReferences = []metav1.OwnerReference{owner}
	return nil
}

// Delete implements ConfigMaps.
func (c *cluster) Delete(_ context.Context, name string) error {
	delete(c.maps, name)
	return c.ask("delete")
}

func (c *cluster) createRun(_ context.Context, run *v1alpha1.MotorRun) (*v1alpha1.MotorRun, bool, error) {
	what := "run"
	if run.Spec.Files[0].ConfigMapKeyRef != nil {
		what = "run that refers"
	}
	if err := c.ask(what); err != nil {
		return nil, !c.silent, err
	}
	c.run = run.DeepCopy()
	c.run.Name, c.run.UID = "run-x", "uid"
	return c.run, true, nil
}

func TestCreate(t *testing.T) {
	t.Parallel()
	no := errors.New("no")
	for name, tt := range map[string]struct {
		size   int
		fails  []string
		silent bool
		want   string
		kept   int
	}{
		"small":                            {size: 10, want: "run"},
		"large":                            {size: InlineBytes + 1, want: "create, read, run that refers, own", kept: 1},
		"it may make no ConfigMap":         {size: InlineBytes + 1, fails: []string{"create"}, want: "create, run"},
		"it may read none":                 {size: InlineBytes + 1, fails: []string{"read"}, want: "create, read, delete, run"},
		"runs that refer are refused":      {size: InlineBytes + 1, fails: []string{"run that refers"}, want: "create, read, run that refers, delete, run"},
		"all runs are refused":             {size: InlineBytes + 1, fails: []string{"run that refers", "run"}, want: "create, read, run that refers, delete, run"},
		"the API server does not answer":   {size: InlineBytes + 1, fails: []string{"run that refers"}, silent: true, want: "create, read, run that refers", kept: 1},
		"the ConfigMap cannot be given up": {size: InlineBytes + 1, fails: []string{"own"}, want: "create, read, run that refers, own", kept: 1},
	} {
		c := &cluster{fails: map[string]error{}, silent: tt.silent, maps: map[string]*corev1.ConfigMap{}}
		for _, what := range tt.fails {
			c.fails[what] = no
		}
		given := runWith(tt.size)
		created, answered, err := Create(t.Context(), c, given, c.createRun)
		if got := strings.Join(c.asked, ", "); got != tt.want || len(c.maps) != tt.kept {
			t.Errorf("%s: it did %s, want %s; %d ConfigMaps are kept", name, got, tt.want, len(c.maps))
		}
		failed := c.run == nil
		if failed != (err != nil) || answered == tt.silent || !failed && created.Run != c.run || (created.Unowned != nil) != slices.Contains(tt.fails, "own") {
			t.Errorf("%s: %+v, answered %t: %v", name, created, answered, err)
		}
		if given.Spec.Files[0].Content == nil {
			t.Errorf("%s: the caller's run was changed", name)
		}
		if failed || created.ConfigMap == "" {
			continue
		}
		ref, cm := c.run.Spec.Files[0].ConfigMapKeyRef, c.maps[created.ConfigMap]
		sum := sha256.Sum256([]byte(cm.Data[ref.Key]))
		if ref.Name != cm.Name || cm.Data[ref.Key] != *given.Spec.Files[0].Content || ref.Digest != "sha256:"+hex.EncodeToString(sum[:]) {
			t.Errorf("%s: %+v refers to %v", name, ref, slices.Collect(maps.Keys(cm.Data)))
		}
		if created.Unowned == nil && (len(cm.OwnerReferences) != 1 || cm.OwnerReferences[0].UID != "uid") {
			t.Errorf("%s: owners %+v", name, cm.OwnerReferences)
		}
	}
}
