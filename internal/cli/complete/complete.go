// SPDX-License-Identifier: Apache-2.0

// Package complete has what a shell offers for the word that a person is typing.
package complete

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/show"
)

const (
	// patience bounds how long a shell stands still for a cluster that cannot be reached.
	patience = 3 * time.Second
	// most bounds the runs of one completion.
	most = 500
	// maxHint is the most bytes beside a name.
	maxHint = 60
)

// Runs completes the first argument with the names of the runs that fit. Without a cluster it completes nothing.
func Runs(connect cluster.Connect, fits func(*v1alpha1.MotorRun) bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		c, namespace, err := connect()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), patience)
		defer cancel()
		list := &v1alpha1.MotorRunList{}
		if err := c.List(ctx, list, client.InNamespace(namespace), client.Limit(most)); err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []cobra.Completion
		for i := range list.Items {
			if run := &list.Items[i]; fits(run) {
				names = append(names, cobra.CompletionWithDesc(run.Name, hint(run)))
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// Skills completes the first argument with the names of skills. Without a cluster it completes nothing.
func Skills(connect cluster.Connect) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			// An export goes into a folder.
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		c, namespace, err := connect()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), patience)
		defer cancel()
		list := &v1alpha1.SkillList{}
		if err := c.List(ctx, list, client.InNamespace(namespace), client.Limit(most)); err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []cobra.Completion
		for i := range list.Items {
			names = append(names, cobra.CompletionWithDesc(list.Items[i].Name, string(list.Items[i].Status.State)))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// hint tells runs apart.
func hint(run *v1alpha1.MotorRun) string {
	if p := run.Status.Pending(); p != nil {
		return show.Line(p.Title, maxHint)
	}
	if run.Spec.Task != "" {
		return show.Line(run.Spec.Task, maxHint)
	}
	return run.Status.Reason
}
