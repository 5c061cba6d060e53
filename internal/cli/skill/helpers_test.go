// SPDX-License-Identifier: Apache-2.0

package skill_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	cli "motorcortex.dev/motorcortex/internal/cli/skill"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/skill"
	skillstore "motorcortex.dev/motorcortex/internal/skill/store"
)

const manifest = "---\nname: weather\ndescription: Tells the weather.\n---\nAsk the service.\n"

// rig is a cluster with a skill, and an operator that looks at it as soon as it was changed.
type rig struct {
	client.WithWatch
	t *testing.T
	// user is the name of the asking user.
	user string
	// types is what the user types at a terminal, "" without one.
	types string
	// mayNot is true if the user has no right to approve.
	mayNot bool
	// asleep is true if the operator does not look.
	asleep bool
	// meanwhile happens between the read and the write of a verb.
	meanwhile func()
	// patches are those that were sent.
	patches []string
	// first and second are the revisions of the skill.
	first, second *v1alpha1.SkillRevision
}

func newRig(t *testing.T, change ...func(*v1alpha1.Skill)) *rig {
	t.Helper()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, user: "alice", types: "y\n"}
	r.WithWatch = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.Skill{}).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if review, ok := o.(*authenticationv1.SelfSubjectReview); ok {
				review.Status.UserInfo.Username = r.user
				if r.meanwhile != nil {
					r.meanwhile()
				}
				return nil
			}
			if review, ok := o.(*authorizationv1.SelfSubjectAccessReview); ok {
				review.Status.Allowed = !r.mayNot
				return nil
			}
			if o.GetUID() == "" {
				o.SetUID(types.UID("uid-of-" + o.GetName()))
			}
			return c.Create(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			body, err := patch.Data(o)
			if err != nil {
				return err
			}
			r.patches = append(r.patches, string(body))
			if err = c.Patch(ctx, o, patch, opts...); err != nil || r.asleep {
				return err
			}
			looked := o.DeepCopyObject().(*v1alpha1.Skill)
			looked.Status.State, looked.Status.Message, looked.Status.ObservedGeneration = v1alpha1.SkillApproved, "It is as it\u202e should be.", o.GetGeneration()
			return c.Status().Update(ctx, looked)
		},
	}).Build()
	s := &v1alpha1.Skill{
		ObjectMeta: metav1.ObjectMeta{Name: "weather", Namespace: "ns", UID: "skill-uid", Generation: 3},
		Spec:       v1alpha1.SkillSpec{Policy: v1alpha1.SkillPolicy{Tools: []v1alpha1.ToolName{"bash"}, Domains: []v1alpha1.Domain{"api.example.org"}}},
	}
	r.first = r.put(s, map[string]string{"SKILL.md": manifest, "scripts/send.sh": "#!/bin/sh\necho one\n", "references/old.md": "old\n"})
	r.second = r.put(s, map[string]string{"SKILL.md": manifest + "Twice.", "scripts/send.sh": "#!/bin/sh\necho \x1b[31mtwo\n", "assets/logo.png": "\x89\xff"})
	s.Status = v1alpha1.SkillStatus{
		RevisionName: r.second.Name, State: v1alpha1.SkillNeedsReapproval, ObservedGeneration: 3,
		Approved:  &v1alpha1.ApprovedRevision{RevisionName: r.first.Name, ContentHash: r.first.Spec.ContentHash},
		Revisions: []v1alpha1.RevisionSummary{{Name: r.second.Name, ContentHash: r.second.Spec.ContentHash}, {Name: r.first.Name, ContentHash: r.first.Spec.ContentHash}},
	}
	for _, c := range change {
		c(s)
	}
	status := s.Status
	if err := r.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	s.Status = status
	if err := r.Status().Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return r
}

// put stores a revision.
func (r *rig) put(s *v1alpha1.Skill, files map[string]string) *v1alpha1.SkillRevision {
	r.t.Helper()
	var list []skill.File
	for _, path := range slices.Sorted(maps.Keys(files)) {
		list = append(list, skill.File{Path: path, Content: []byte(files[path]), Executable: strings.HasPrefix(path, "scripts/")})
	}
	rev, err := (&skillstore.Store{Client: r, Live: r}).Put(r.t.Context(), s, v1alpha1.SkillRevisionSpec{}, list)
	if err != nil {
		r.t.Fatal(err)
	}
	return rev
}

// carryOut carries out a verb of kubectl motor skill.
func carryOut(t *testing.T, c cli.Command, args []string) int {
	t.Helper()
	p := verb.Program(c.Streams, "kubectl-motor", "kubectl motor", "Test.", cli.New(c))
	new(cluster.Flags).Bind(p.PersistentFlags())
	return verb.Run(t.Context(), p, append([]string{"skill"}, args...))
}

// run carries out a verb.
func (r *rig) run(args ...string) (code int, out, errs string) {
	var o, e strings.Builder
	c := cli.Command{
		Streams: verb.Streams{In: strings.NewReader(r.types), Out: &o, Err: &e, Terminal: r.types != ""}, Wait: 100 * time.Millisecond,
		Connect: func() (client.WithWatch, string, error) { return r.WithWatch, "ns", nil },
	}
	code = carryOut(r.t, c, args)
	return code, o.String(), e.String()
}

// want runs a verb and fails the test unless it ends with that code and prints all of these texts.
func (r *rig) want(code int, args []string, says ...string) {
	r.t.Helper()
	got, out, errs := r.run(args...)
	if got != code {
		r.t.Errorf("%s: exit code %d, want %d", args, got, code)
	}
	for _, part := range says {
		if !strings.Contains(out+errs, part) {
			r.t.Errorf("%s does not say %q, but %s%s", args, part, out, errs)
		}
	}
}

func (r *rig) skill() *v1alpha1.Skill {
	r.t.Helper()
	s := &v1alpha1.Skill{}
	if err := r.Get(r.t.Context(), client.ObjectKey{Namespace: "ns", Name: "weather"}, s); err != nil {
		r.t.Fatal(err)
	}
	return s
}

// folder is the content of a folder: the content of its files, with an x before that of programs.
func folder(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		content, readErr := os.ReadFile(path)
		if err = errors.Join(err, readErr); err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if files[name] = string(content); info.Mode()&0o100 != 0 {
			files[name] = "x " + files[name]
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// fill writes files into a folder.
func fill(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}
