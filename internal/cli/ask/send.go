// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/lookup"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/pkg/client/motor/asks"
)

// send is Send, and says that it is done.
func (c Command) send(ctx context.Context, s *Subject, r v1alpha1.Response, done string) error {
	if err := s.Send(ctx, r); err != nil {
		return err
	}
	fmt.Fprintf(c.Out, "motorrun/%s %s\n", s.run.Name, done)
	return nil
}

// Send adds the response. The API server takes it only if this run still asks this.
func (s *Subject) Send(ctx context.Context, r v1alpha1.Response) error {
	body, err := asks.Patch(s.run, s.PendingInput, r)
	if err != nil {
		return err
	}
	key := client.ObjectKeyFromObject(s.run)
	written := s.run.DeepCopy()
	if err := s.client.Patch(ctx, written, client.RawPatch(types.JSONPatchType, body)); err != nil {
		now := &v1alpha1.MotorRun{}
		if s.client.Get(ctx, key, now) != nil {
			now = nil
		}
		return explain(err, s, now)
	}
	return nil
}

// explain says in words why a response was not taken. now is the run as it is, nil if it cannot be read.
func explain(err error, s *Subject, now *v1alpha1.MotorRun) error {
	what := fmt.Sprintf("%s/%s did not take it", s.run.Namespace, s.run.Name)
	switch r := asks.Refused(err, s.run, s.PendingInput, now); r.Cause {
	case asks.Gone:
		return fmt.Errorf("%s: the run that asked is gone", what)
	case asks.Denied:
		return fmt.Errorf("%s: %s", what, r.Reason)
	case asks.NoRight:
		return fmt.Errorf("%s: %w. Have the ClusterRole %s bound to you in the namespace %s", what, err, asks.Role(s.Kind), s.run.Namespace)
	case asks.Answered:
		return fmt.Errorf("%s: it was answered a moment ago, %s", what, said(r.Response))
	case asks.NotAsked:
		return fmt.Errorf("%s: it does not ask that any more. \"kubectl motor get %s\" says how it stands", what, s.run.Name)
	case asks.Invalid:
		return fmt.Errorf("%s: %s", what, lookup.Invalid(err))
	case asks.Other:
	}
	return fmt.Errorf("%s: %w", what, err)
}

// confirm asks for a yes at the terminal, or for the flag that stands for it.
func (c Command) confirm(ctx context.Context, yes bool, question, without string) error {
	if yes {
		return nil
	}
	if !c.Terminal {
		return verb.Misused(errors.New(without))
	}
	line, err := c.read(ctx, question+" [y/N] ")
	if err != nil {
		return err
	}
	if line = strings.ToLower(line); line != "y" && line != "yes" {
		return errors.New("nothing was sent")
	}
	return nil
}
