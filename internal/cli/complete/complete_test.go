// SPDX-License-Identifier: Apache-2.0

package complete_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/complete"
)

func run(namespace, name, task string, p ...v1alpha1.PendingInput) *v1alpha1.MotorRun {
	return &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.MotorRunSpec{Task: task}, Status: v1alpha1.MotorRunStatus{PendingInputs: p, Reason: "Running"},
	}
}

func TestRuns(t *testing.T) {
	t.Parallel()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		run("ns", "a", "count\x1b[2J the words"), run("ns", "b", "x", v1alpha1.PendingInput{ID: "q", Title: "Which\tof them?"}), run("ns", "c", ""), run("other", "d", "x"),
	).Build()
	for name, tt := range map[string]struct {
		err  error
		args []string
		fits func(*v1alpha1.MotorRun) bool
		want []string
	}{
		"all":               {nil, nil, func(*v1alpha1.MotorRun) bool { return true }, []string{"a\tcount\\u001b[2J the words", "b\tWhich of them?", "c\tRunning"}},
		"those that fit":    {nil, nil, func(r *v1alpha1.MotorRun) bool { return r.Status.Pending() != nil }, []string{"b\tWhich of them?"}},
		"a second argument": {nil, []string{"a"}, func(*v1alpha1.MotorRun) bool { return true }, nil},
		"no cluster":        {errors.New("there is none"), nil, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := &cobra.Command{}
			cmd.SetContext(context.WithoutCancel(t.Context()))
			got, directive := complete.Runs(func() (client.WithWatch, string, error) { return c, "ns", tt.err }, tt.fits)(cmd, tt.args, "")
			if !slices.Equal(got, tt.want) || directive != cobra.ShellCompDirectiveNoFileComp {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestSkills(t *testing.T) {
	t.Parallel()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	skill := func(namespace, name string) *v1alpha1.Skill {
		return &v1alpha1.Skill{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Status: v1alpha1.SkillStatus{State: v1alpha1.SkillApproved}}
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(skill("ns", "a"), skill("ns", "b"), skill("other", "c")).Build()
	for name, tt := range map[string]struct {
		err       error
		args      []string
		want      []string
		directive cobra.ShellCompDirective
	}{
		"those of the namespace": {nil, nil, []string{"a\tApproved", "b\tApproved"}, cobra.ShellCompDirectiveNoFileComp},
		"a folder":               {nil, []string{"a"}, nil, cobra.ShellCompDirectiveFilterDirs},
		"no cluster":             {errors.New("there is none"), nil, nil, cobra.ShellCompDirectiveNoFileComp},
	} {
		cmd := &cobra.Command{}
		cmd.SetContext(t.Context())
		got, directive := complete.Skills(func() (client.WithWatch, string, error) { return c, "ns", tt.err })(cmd, tt.args, "")
		if !slices.Equal(got, tt.want) || directive != tt.directive {
			t.Errorf("%s: %q, %v, want %q", name, got, directive, tt.want)
		}
	}
}
