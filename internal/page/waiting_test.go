// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// A person who may approve skills finds in the inbox those that wait. For others they are no part of it.
func TestTheInboxHasTheSkillsThatWaitForThePerson(t *testing.T) {
	t.Parallel()
	c, _, now := weather(t)
	r := newRig(t, c)
	const path = "/api/waiting-skills?namespace=ns"
	const nothing = `{"items":[],"left":false}`
	r.want(http.StatusOK, http.MethodGet, path, "", nothing)
	s := &v1alpha1.Skill{}
	if err := c.Get(t.Context(), keyOf(&v1alpha1.Skill{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "weather"}}), s); err != nil {
		t.Fatal(err)
	}
	s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionApproved, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonAwaitingApproval}}
	if err := c.Status().Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	r.want(http.StatusOK, http.MethodGet, path, "", `"name":"weather"`, `"waitsFor":["an approval of `+now.Name+`"]`)
	c.Deny("approve skills")
	r.want(http.StatusOK, http.MethodGet, path, "", nothing)
	c.Deny("list skills")
	r.want(http.StatusOK, http.MethodGet, path, "", nothing)
}
