// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/rights"
	"motorcortex.dev/motorcortex/internal/cli/skill/waits"
)

// waitingSkill is a skill that waits for a decision of the person.
type waitingSkill struct {
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	UID       string   `json:"uid"`
	WaitsFor  []string `json:"waitsFor"`
}

// waitingSkills lists the skills of a namespace, or of all, that wait for a decision of the person. They are of the first page of the list alone: left
// reports whether there are more. People without the right to list skills have none.
func waitingSkills(ctx context.Context, q *query) (any, error) {
	list := &v1alpha1.SkillList{}
	if err := q.Client.List(ctx, list, client.InNamespace(q.namespace()), client.Limit(skillsPage)); err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	found, mine := []waitingSkill{}, rights.Of(q.Client)
	for i := range list.Items {
		s := &list.Items[i]
		decisions := waits.Decisions(s)
		if len(decisions) == 0 {
			continue
		}
		may, err := mine.Approve(ctx, s)
		if err != nil {
			return nil, err
		}
		if may {
			found = append(found, waitingSkill{s.Namespace, s.Name, string(s.UID), texts(decisions)})
		}
	}
	return map[string]any{"items": found, "left": list.Continue != ""}, nil
}
