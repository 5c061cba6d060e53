// SPDX-License-Identifier: Apache-2.0

// Package steer has the verbs that stop a run and let it go on.
package steer

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/complete"
	"motorcortex.dev/motorcortex/internal/cli/lookup"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

// order is what a verb makes of a run.
type order struct {
	verb, short, long, done, already string
	// given reports whether the run is as it is to be.
	given func(*v1alpha1.MotorRunSpec) bool
	field string
	value bool
}

var orders = []order{
	{
		verb: "cancel", short: "End a run, in any phase, for ever.", long: "A cancelled run cannot be brought back.", done: "cancelled", already: "is cancelled already",
		given: func(s *v1alpha1.MotorRunSpec) bool { return s.Cancel }, field: "cancel", value: true,
	},
	{
		verb: "suspend", short: "Stop a run where it is.", long: "Its sandbox stays, and its time stands still. A call that runs is let finish.", done: "suspended",
		already: "is suspended already", given: func(s *v1alpha1.MotorRunSpec) bool { return s.Suspend }, field: "suspend", value: true,
	},
	{
		verb: "resume", short: "Let a suspended run go on.", long: "It goes on where it was.", done: "resumed", already: "is not suspended",
		given: func(s *v1alpha1.MotorRunSpec) bool { return !s.Suspend }, field: "suspend", value: false,
	},
}

// New are the verbs.
func New(s verb.Streams, connect cluster.Connect) []*cobra.Command {
	var all []*cobra.Command
	for _, o := range orders {
		cmd := &cobra.Command{Use: o.verb + " RUN", Short: o.short, Long: o.short + " " + o.long, Args: verb.Args("the name of the RUN")}
		cmd.ValidArgsFunction = complete.Runs(connect, func(run *v1alpha1.MotorRun) bool { return run.Status.CompletionTime == nil && !o.given(&run.Spec) })
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			c, namespace, err := connect()
			if err != nil {
				return err
			}
			run, err := lookup.Run(cmd.Context(), c, namespace, args[0])
			if err != nil {
				return err
			}
			switch {
			case o.given(&run.Spec):
				fmt.Fprintf(s.Err, "note: %s %s\n", run.Name, o.already)
				return nil
			case run.Status.CompletionTime != nil:
				return fmt.Errorf("%s has ended already (%s)", run.Name, run.Status.Reason)
			}
			if err := o.send(cmd.Context(), c, run); err != nil {
				return err
			}
			fmt.Fprintf(s.Out, "motorrun/%s %s\n", run.Name, o.done)
			return nil
		}
		all = append(all, cmd)
	}
	return all
}

// send changes the field. A run of the same name that was created meanwhile has another UID, and is refused.
func (o *order) send(ctx context.Context, c client.Client, run *v1alpha1.MotorRun) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": run.UID}, "spec": map[string]any{o.field: o.value}})
	if err != nil {
		return err
	}
	err = c.Patch(ctx, run.DeepCopy(), client.RawPatch(types.MergePatchType, body))
	if err == nil {
		return nil
	}
	what := fmt.Sprintf("%s/%s was not %s", run.Namespace, run.Name, o.done)
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return fmt.Errorf("%s: the run is gone, and another one may have its name", what)
	case apierrors.IsForbidden(err):
		if _, reason, found := strings.Cut(err.Error(), "denied request: "); found {
			return fmt.Errorf("%s: %s", what, reason)
		}
		return fmt.Errorf("%s: %w. Have the role edit, or the ClusterRole motorcortex-editor, bound to you in the namespace %s", what, err, run.Namespace)
	}
	return fmt.Errorf("%s: %w", what, err)
}
