// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

func (c Command) remove() *cobra.Command {
	cmd := &cobra.Command{
		Use: "delete NAME", Short: "Delete a credential, after a look at who uses it.", Args: cobra.MatchAll(verb.Args("the NAME of the credential"), func(_ *cobra.Command, args []string) error { return checkName(args[0]) }),
		Long: `Delete the Secret of a credential. The approved skills, the runs that have not ended and the MotorCortex that name it are listed before. Nothing is deleted before you say so, at
the terminal or with --yes. Secrets that are no credentials are left to kubectl.`,
	}
	yes := cmd.Flags().BoolP("yes", "y", false, "delete it without a question")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return c.removeCredential(cmd.Context(), args[0], *yes) }
	return cmd
}

func (c Command) removeCredential(ctx context.Context, name string, yes bool) error {
	cl, namespace, err := c.Connect()
	if err != nil {
		return err
	}
	head := secretHead()
	key := client.ObjectKey{Namespace: namespace, Name: name}
	switch err := cl.Get(ctx, key, head); {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("there is no Secret %s in the namespace %s: \"kubectl motor credential list\" lists the credentials", name, namespace)
	case err != nil:
		return fmt.Errorf("get the Secret %s: %w", key, err)
	}
	uses, err := usesIn(ctx, cl, namespace)
	switch {
	case apierrors.IsForbidden(err):
		fmt.Fprintf(c.Err, "note: you may not list skills, so it is unknown which of them use it: %s\n", show.Line(err.Error(), 256))
	case err != nil:
		return err
	}
	if head.Labels[v1alpha1.LabelComponent] != v1alpha1.ComponentCredential {
		return fmt.Errorf("the Secret %s is no credential: it has no label %s=%s. \"kubectl delete secret\" deletes any Secret, with all that is in it",
			key, v1alpha1.LabelComponent, v1alpha1.ComponentCredential)
	}
	if keys := keysOf(head); len(keys) > 1 {
		fmt.Fprintf(c.Err, "All keys of the Secret go: %s.\n", strings.Join(keys, ", "))
	}
	for _, u := range uses[key] {
		if u.Approved {
			fmt.Fprintf(c.Err, "The approved skill %s will miss it, as %s.\n", u.Skill, u.Credential)
		}
	}
	c.warnOfOthers(ctx, cl, namespace, name)
	if err := c.confirm(ctx, name, yes); err != nil {
		return err
	}
	// Not the one that another person made of that name meanwhile.
	if err := cl.Delete(ctx, head, client.Preconditions{UID: &head.UID}); err != nil {
		return fmt.Errorf("delete the Secret %s: %w", key, err)
	}
	fmt.Fprintf(c.Out, "secret/%s deleted\n", name)
	return nil
}

// warnOfOthers names what else than a skill uses a Secret: runs that have not ended, and the MotorCortex.
func (c Command) warnOfOthers(ctx context.Context, cl client.Client, namespace, name string) {
	others, err := othersUsing(ctx, cl, namespace, name)
	for _, o := range others {
		fmt.Fprintf(c.Err, "%s will miss it.\n", o)
	}
	if err != nil {
		fmt.Fprintf(c.Err, "note: it is unknown whether other runs or the MotorCortex use it: %s\n", show.Line(err.Error(), 256))
	}
}

// maxNamedRuns is how many runs are named that use a Secret.
const maxNamedRuns = 20

func othersUsing(ctx context.Context, cl client.Client, namespace, name string) (others []string, err error) {
	cortex := &v1alpha1.MotorCortex{}
	err = client.IgnoreNotFound(cl.Get(ctx, client.ObjectKey{Namespace: namespace, Name: v1alpha1.CortexName}, cortex))
	for _, use := range cortexUses(&cortex.Spec) {
		if use.ref != nil && use.ref.Name == name {
			others = append(others, "The MotorCortex, for "+use.what+",")
		}
	}
	for next := ""; ; {
		page := &v1alpha1.MotorRunList{}
		if listErr := cl.List(ctx, page, client.InNamespace(namespace), client.Limit(pageSize), client.Continue(next)); listErr != nil {
			return others, errors.Join(err, listErr)
		}
		for i := range page.Items {
			run := &page.Items[i]
			uses := slices.ContainsFunc(run.Spec.Credentials, func(c v1alpha1.Credential) bool { return c.SecretRef.Name == name })
			if uses && !apimeta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionFinished) && len(others) < maxNamedRuns {
				others = append(others, "The run "+run.Name+", which has not ended,")
			}
		}
		if next = page.Continue; next == "" {
			return others, err
		}
	}
}

// cortexUse is a key of a Secret that a MotorCortex names.
type cortexUse struct {
	what string
	ref  *v1alpha1.SecretKeyRef
}

func cortexUses(spec *v1alpha1.MotorCortexSpec) []cortexUse {
	var uses []cortexUse
	for _, m := range []*v1alpha1.ModelEndpoint{spec.Models.Motor, spec.Models.Fast, spec.Models.Default} {
		if m != nil {
			uses = append(uses, cortexUse{"the model " + show.Line(m.Model, maxColumn), m.APIKeySecretRef})
		}
	}
	if spec.Search != nil {
		uses = append(uses, cortexUse{"search", spec.Search.APIKeySecretRef})
	}
	if spec.Signals != nil {
		for i := range spec.Signals.Sinks {
			s := &spec.Signals.Sinks[i]
			uses = append(uses, cortexUse{"the sink " + s.Name, s.AuthorizationSecretRef}, cortexUse{"the sink " + s.Name, s.SigningKeySecretRef})
		}
	}
	if spec.Notifications != nil {
		for i := range spec.Notifications.Receivers {
			r := &spec.Notifications.Receivers[i]
			if r.Slack != nil {
				uses = append(uses, cortexUse{"the receiver " + r.Name, &r.Slack.URLSecretRef})
			}
			if r.Webhook != nil {
				uses = append(uses, cortexUse{"the receiver " + r.Name, r.Webhook.SigningKeySecretRef})
			}
		}
	}
	return uses
}

// confirm asks the person at the terminal.
func (c Command) confirm(ctx context.Context, name string, yes bool) error {
	if yes {
		return nil
	}
	if !c.Terminal || c.In == nil {
		return verb.Misusedf("nothing is deleted without a question: say --yes")
	}
	switch yes, err := c.Confirm(ctx, fmt.Sprintf("Delete the credential %s?", name)); {
	case err != nil:
		return fmt.Errorf("nothing was deleted: %w", err)
	case !yes:
		return errors.New("nothing was deleted")
	}
	return nil
}
