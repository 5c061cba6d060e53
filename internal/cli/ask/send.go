// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/lookup"
	"motorcortex.dev/motorcortex/internal/cli/pending"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

// operation is one of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// send adds the response. The API server takes it only if this run still asks this: a run of the same name that was created meanwhile has another
// UID, and two people who answer at once would both have their response added but for its id, which there is once.
func (c Command) send(ctx context.Context, s *subject, r v1alpha1.Response, done string) error {
	r.ID = s.ID
	index := slices.IndexFunc(s.run.Status.PendingInputs, func(p v1alpha1.PendingInput) bool { return p.ID == s.ID })
	body, err := json.Marshal([]operation{
		{"test", "/metadata/uid", s.run.UID},
		{"test", fmt.Sprintf("/status/pendingInputs/%d/id", index), s.ID},
		{"add", "/spec/responses/-", r},
	})
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
	fmt.Fprintf(c.Out, "motorrun/%s %s\n", s.run.Name, done)
	return nil
}

// explain says in words why a response was not taken. now is the run as it is, nil if it cannot be read.
func explain(err error, s *subject, now *v1alpha1.MotorRun) error {
	what := fmt.Sprintf("%s/%s did not take it", s.run.Namespace, s.run.Name)
	switch {
	case apierrors.IsNotFound(err), now != nil && now.UID != s.run.UID:
		return fmt.Errorf("%s: the run that asked is gone", what)
	case apierrors.IsForbidden(err):
		_, reason, found := strings.Cut(err.Error(), "denied request: ")
		if !found {
			return fmt.Errorf("%s: %w. Have the ClusterRole %s bound to you in the namespace %s", what, err, role(s.Kind), s.run.Namespace)
		}
		return fmt.Errorf("%s: %s", what, reason)
	case now == nil:
		return fmt.Errorf("%s: %w", what, err)
	}
	if r := pending.ResponseTo(now, s.ID); r != nil {
		return fmt.Errorf("%s: it was answered a moment ago, %s", what, said(r))
	}
	if !slices.ContainsFunc(now.Status.PendingInputs, func(p v1alpha1.PendingInput) bool { return p.ID == s.ID }) {
		return fmt.Errorf("%s: it does not ask that any more. \"kubectl motor get %s\" says how it stands", what, s.run.Name)
	}
	if apierrors.IsInvalid(err) {
		return fmt.Errorf("%s: %s", what, lookup.Invalid(err))
	}
	return fmt.Errorf("%s: %w", what, err)
}

func role(kind v1alpha1.InputKind) string {
	if pending.Verb(kind) == "approve" {
		return "motorcortex-approver"
	}
	return "motorcortex-responder"
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
