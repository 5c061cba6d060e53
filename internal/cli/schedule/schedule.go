// SPDX-License-Identifier: Apache-2.0

// Package schedule has the verbs of `kubectl motor schedule`.
package schedule

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/start"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/runtemplate"
)

// Command has the dependencies of a verb.
type Command struct {
	verb.Streams

	Connect cluster.Connect
	Now     func() time.Time
}

// New is the command `kubectl motor schedule`.
func New(c Command) *cobra.Command {
	return verb.Group("schedule", "Work with schedules.", c.list(), c.get(), c.trigger(),
		c.steer("suspend", "Let no further run of a schedule begin.", "Runs that began go on.", "suspended", "is suspended already", true),
		c.steer("resume", "Let the runs of a suspended schedule begin again.",
			"With catchUp Last, the last start that was left out takes place at once, unless startingDeadlineSeconds is over.", "resumed", "is not suspended", false))
}

// read reads one schedule.
func read(ctx context.Context, c client.Reader, namespace, name string) (*v1alpha1.MotorSchedule, error) {
	s := &v1alpha1.MotorSchedule{}
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, s)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("there is no MotorSchedule %s in the namespace %s", name, namespace)
	case err != nil:
		return nil, fmt.Errorf("read the MotorSchedule %s: %w", name, err)
	}
	return s, nil
}

// steer is a verb that sets spec.suspend.
func (c Command) steer(name, short, long, done, already string, suspend bool) *cobra.Command {
	cmd := &cobra.Command{Use: name + " NAME", Short: short, Long: short + " " + long, Args: verb.Args("the NAME of the schedule")}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cl, namespace, err := c.Connect()
		if err != nil {
			return err
		}
		s, err := read(cmd.Context(), cl, namespace, args[0])
		if err != nil {
			return err
		}
		if s.Spec.Suspend == suspend {
			fmt.Fprintf(c.Err, "note: %s %s\n", s.Name, already)
			return nil
		}
		// The UID refuses a schedule of the same name that was created meanwhile.
		body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": s.UID}, "spec": map[string]any{"suspend": suspend}})
		if err != nil {
			return err
		}
		if err := cl.Patch(cmd.Context(), s.DeepCopy(), client.RawPatch(types.MergePatchType, body)); err != nil {
			return unchanged(err, s, done)
		}
		fmt.Fprintf(c.Out, "motorschedule/%s %s\n", s.Name, done)
		return nil
	}
	return cmd
}

// unchanged says in words why a schedule was not changed.
func unchanged(err error, s *v1alpha1.MotorSchedule, done string) error {
	what := fmt.Sprintf("%s/%s was not %s", s.Namespace, s.Name, done)
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return fmt.Errorf("%s: the schedule is gone, and another one may have its name", what)
	case apierrors.IsForbidden(err):
		if _, reason, found := strings.Cut(err.Error(), "denied request: "); found {
			return fmt.Errorf("%s: %s", what, reason)
		}
		return fmt.Errorf("%s: %w. Have the role edit, or the ClusterRole motorcortex-editor, bound to you in the namespace %s", what, err, s.Namespace)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// trigger makes the run of a schedule by hand.
func (c Command) trigger() *cobra.Command {
	cmd := &cobra.Command{
		Use: "trigger NAME", Short: "Start the run of a schedule now.", Args: verb.Args("the NAME of the schedule"),
		Long: `Start the run of a schedule now, and print its name.

The run is yours: it has your rights, and not those of who wrote the schedule. It does not count for concurrencyPolicy and the limits of the history,
and the schedule goes on as before, also one that is suspended.`,
	}
	var name string
	cmd.Flags().StringVar(&name, "name", "", "name of the run; unset, the API server makes one up")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cl, namespace, err := c.Connect()
		if err != nil {
			return err
		}
		s, err := read(cmd.Context(), cl, namespace, args[0])
		if err != nil {
			return err
		}
		run, err := runOf(cmd.Context(), cl, s)
		if err != nil {
			return err
		}
		run.Name = name
		if name == "" {
			run.GenerateName = s.Name + "-"
		}
		if _, err := start.Create(cmd.Context(), cl, run); err != nil {
			return err
		}
		fmt.Fprintf(c.Out, "motorrun/%s\n", run.Name)
		return nil
	}
	return cmd
}

// runOf returns a run of a schedule, without a name.
func runOf(ctx context.Context, c client.Reader, s *v1alpha1.MotorSchedule) (*v1alpha1.MotorRun, error) {
	var run *v1alpha1.MotorRun
	switch spec := &s.Spec; {
	case spec.RunTemplate != nil:
		run = runtemplate.Run(spec.RunTemplate)
	case spec.RunTemplateRef != nil:
		values := map[string]string{}
		for _, p := range spec.RunTemplateRef.Parameters {
			values[p.Name] = p.Value
		}
		var err error
		if run, err = start.OfTemplate(ctx, c, s.Namespace, spec.RunTemplateRef, values); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("the MotorSchedule %s has neither spec.runTemplate nor spec.runTemplateRef", s.Name)
	}
	run.Namespace = s.Namespace
	runtemplate.Annotate(run, v1alpha1.AnnotationTriggeredFrom, s.Name)
	return run, nil
}
