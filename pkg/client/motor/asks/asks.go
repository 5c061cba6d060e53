// SPDX-License-Identifier: Apache-2.0

// Package asks has the rules by which what a run asks is found and answered. It has no client: programs send what it builds with their own.
package asks

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Open returns the asks of a run that have no answer yet. The pointers are into the status.
func Open(run *v1alpha1.MotorRun) []*v1alpha1.PendingInput {
	var open []*v1alpha1.PendingInput
	for i := range run.Status.PendingInputs {
		// The operator takes a moment to mark an ask as answered.
		if p := &run.Status.PendingInputs[i]; !p.Answered && ResponseTo(run, p.ID) == nil {
			open = append(open, p)
		}
	}
	return open
}

// ResponseTo returns the response to an ask, nil if there is none. The pointer is into the spec.
func ResponseTo(run *v1alpha1.MotorRun, id string) *v1alpha1.Response {
	for i := range run.Spec.Responses {
		if r := &run.Spec.Responses[i]; r.ID == id {
			return r
		}
	}
	return nil
}

// Verb is the verb on motorruns that an answer to such an ask needs, beside patch.
func Verb(kind v1alpha1.InputKind) string {
	switch kind {
	case v1alpha1.InputApproval, v1alpha1.InputDomainRequest, v1alpha1.InputBudgetExhausted:
		return "approve"
	case v1alpha1.InputQuestion, v1alpha1.InputOutcomeUnknown, v1alpha1.InputRetry:
	}
	return "respond"
}

// Role is the ClusterRole that has what an answer to such an ask needs.
func Role(kind v1alpha1.InputKind) string {
	if Verb(kind) == "approve" {
		return "motorcortex-approver"
	}
	return "motorcortex-responder"
}

// operation is one of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// Patch is the JSON patch that adds a response to an ask of the run. The API server takes it only if this run still asks this: a run of the same name
// that was created meanwhile has another UID, and two people who answer at once would both have their response added but for its id, which there
// is once. The id of the response is set to that of the ask.
func Patch(run *v1alpha1.MotorRun, ask *v1alpha1.PendingInput, r v1alpha1.Response) ([]byte, error) {
	r.ID = ask.ID
	index := slices.IndexFunc(run.Status.PendingInputs, func(p v1alpha1.PendingInput) bool { return p.ID == ask.ID })
	if index < 0 {
		return nil, fmt.Errorf("the run %s does not ask under the id %s", run.Name, ask.ID)
	}
	return json.Marshal([]operation{
		{"test", "/metadata/uid", run.UID},
		{"test", fmt.Sprintf("/status/pendingInputs/%d/id", index), ask.ID},
		{"add", "/spec/responses/-", r},
	})
}

// Cause is why a response was not taken.
type Cause int

const (
	// Other: Err says why.
	Other Cause = iota
	// Gone: the run that asked is not there any more. Another one may have its name.
	Gone
	// Denied: an admission policy refused it. Reason has its words.
	Denied
	// NoRight: the user has not the verbs.
	NoRight
	// Answered: another response came first. Response is that one.
	Answered
	// NotAsked: the run does not ask this any more.
	NotAsked
	// Invalid: the response does not fit the ask. Err is of the API server.
	Invalid
)

// Refusal is why a response was not taken.
type Refusal struct {
	Cause    Cause
	Reason   string
	Response *v1alpha1.Response
	Err      error
}

// Refused finds out why the API server did not take a response to an ask of the run. now is the run as it is, nil if it cannot be read.
func Refused(err error, run *v1alpha1.MotorRun, ask *v1alpha1.PendingInput, now *v1alpha1.MotorRun) Refusal {
	switch {
	case apierrors.IsNotFound(err), now != nil && now.UID != run.UID:
		return Refusal{Cause: Gone, Err: err}
	case apierrors.IsForbidden(err):
		if reason, found := ByPolicy(err); found {
			return Refusal{Cause: Denied, Reason: reason, Err: err}
		}
		return Refusal{Cause: NoRight, Err: err}
	case now == nil:
		return Refusal{Err: err}
	}
	if r := ResponseTo(now, ask.ID); r != nil {
		return Refusal{Cause: Answered, Response: r, Err: err}
	}
	if !slices.ContainsFunc(now.Status.PendingInputs, func(p v1alpha1.PendingInput) bool { return p.ID == ask.ID }) {
		return Refusal{Cause: NotAsked, Err: err}
	}
	if apierrors.IsInvalid(err) {
		return Refusal{Cause: Invalid, Err: err}
	}
	return Refusal{Err: err}
}

// Same reports whether two responses say the same to the same ask. Who sent them is left aside, and the digest of a domain that is denied: it has none.
func Same(given, sent *v1alpha1.Response) bool {
	a, b := *given, *sent
	a.RespondedBy, b.RespondedBy, b.ID = "", "", a.ID
	if a.Digest == "" {
		b.Digest = ""
	}
	return equality.Semantic.DeepEqual(a, b)
}

// Lost reports whether an error leaves open whether the request was carried out: there was no answer, or the API server failed meanwhile.
func Lost(err error) bool {
	var status apierrors.APIStatus
	return !errors.As(err, &status) || status.Status().Code >= http.StatusInternalServerError
}

// ByPolicy returns the words of the admission policy that refused a request, and whether one did.
func ByPolicy(err error) (string, bool) {
	_, reason, found := strings.Cut(err.Error(), "denied request: ")
	return reason, found
}
