// SPDX-License-Identifier: Apache-2.0

// Package decision has what people decided about runs and skills, as events of OCSF. Decisions follow from the objects that they are recorded in.
package decision

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/audit/ocsf"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

// Operations of decisions.
const (
	OpCreate  = "create"
	OpCancel  = "cancel"
	OpAnswer  = "answer"
	OpApprove = "approve"
	OpDeny    = "deny"
	OpExpire  = "expire"
	OpSettle  = "settle"
	OpRetry   = "retry"
	OpStop    = "stop"
	OpRevoke  = "revoke"
	OpReject  = "reject"
)

const (
	// service is the API that decisions are made by, and apiServer the endpoint that they come from: its own audit log has the address of the client.
	service, apiServer = "motorcortex.dev", "kube-apiserver"
	// operatorName is the actor of what no person decided in time, and unknownName that of decisions of which the cluster does not stamp the user.
	operatorName, unknownName = "motorcortex-manager", "unknown"
	logName                   = "decisions"
)

// Of returns the decisions that an object records: a MotorRun, a MotorStep or a Skill. version is that of the manager. An event has the same id each time.
// One without a time is of an object that does not say when.
func Of(o any, version string) []*ocsf.Event {
	var list []*ocsf.Event
	switch o := o.(type) {
	case *v1alpha1.MotorRun:
		list = ofRun(o)
	case *v1alpha1.MotorStep:
		list = ofStep(o)
	case *v1alpha1.Skill:
		list = ofSkill(o)
	}
	for _, e := range list {
		e.Metadata.Product = ocsf.Product{Name: operatorName, VendorName: ocsf.Vendor, Version: version}
		e.Metadata.LogName = logName
	}
	return list
}

// made returns an event of a decision of a user, "" if that is not known.
func made(operation string, at time.Time, user, id string) *ocsf.Event {
	e := ocsf.Call(ocsf.ActivityUpdate, at)
	if at.IsZero() {
		e.Time = 0
	}
	e.API, e.Status = &ocsf.API{Operation: operation, Service: ocsf.Named{Name: service}}, ocsf.Success
	e.Source, e.Metadata.UID = &ocsf.Endpoint{Service: apiServer}, id
	switch operation {
	case OpApprove:
		e.Decided(ocsf.Allowed)
	case OpDeny, OpExpire, OpStop, OpRevoke, OpReject:
		e.Decided(ocsf.Denied)
	}
	switch {
	case operation == OpExpire:
		e.Actor = &ocsf.Actor{AppName: operatorName}
	case user == "":
		e.Actor = &ocsf.Actor{AppName: unknownName}
	default:
		e.Actor = &ocsf.Actor{User: &ocsf.Named{Name: user}}
	}
	return e
}

// ofRun are who created a run and with what, who decided about its attempts, and who cancelled it.
func ofRun(run *v1alpha1.MotorRun) []*ocsf.Event {
	about := func(e *ocsf.Event, data map[string]any) *ocsf.Event {
		e.Resources = []ocsf.Resource{{Type: "MotorRun", Name: run.Name, Namespace: run.Namespace, UID: string(run.UID), Data: known(data)}}
		e.Metadata.CorrelationUID = string(run.UID)
		return e
	}
	requester := ""
	if r := run.Spec.Requester; r != nil {
		requester = r.Username
	}
	created := made(OpCreate, run.CreationTimestamp.Time, requester, string(run.UID)+"/"+OpCreate)
	created.Activity, created.Type = ocsf.ActivityCreate, created.Class*100+int(ocsf.ActivityCreate)
	list := []*ocsf.Event{about(created, map[string]any{"domains": texts(run.Spec.Domains), "tools": texts(run.Spec.Tools)})}
	attempts := run.Status.Attempts
	for i := range attempts {
		r := runpolicy.RetryOf(run, attempts[i].Index)
		if r == nil {
			continue
		}
		at := run.Status.CompletionTime
		if i+1 < len(attempts) {
			at = attempts[i+1].StartTime
		}
		if at == nil {
			// It was not put to use yet.
			continue
		}
		operation := OpRetry
		if r.Decision == v1alpha1.DecisionStop {
			operation = OpStop
		}
		list = append(list, about(made(operation, at.Time, r.RespondedBy, string(run.UID)+"/"+r.ID), map[string]any{
			"attempt": attempts[i].Index, "domains": texts(r.AddDomains), "reason": r.Reason,
		}))
	}
	if at := run.Status.CompletionTime; run.Spec.Cancel && at != nil && run.Status.Reason == v1alpha1.ReasonCancelled {
		list = append(list, about(made(OpCancel, at.Time, run.Spec.CancelledBy, string(run.UID)+"/"+OpCancel), nil))
	}
	return list
}

// ofStep are the asks of a step that are closed: who answered, approved or denied, and exactly what.
func ofStep(s *v1alpha1.MotorStep) []*ocsf.Event {
	run := ocsf.Resource{Type: "MotorRun", Name: s.Labels[v1alpha1.LabelRun], Namespace: s.Namespace}
	for i := range s.OwnerReferences {
		if o := &s.OwnerReferences[i]; o.Controller != nil && *o.Controller {
			run.Name, run.UID = o.Name, string(o.UID)
		}
	}
	var list []*ocsf.Event
	for i := range s.Status.Asks {
		a := &s.Status.Asks[i]
		if a.Outcome == "" {
			continue
		}
		e := made(operationOf(a), a.CloseTime.Time, a.By, string(s.UID)+"/"+a.ID)
		e.Metadata.CorrelationUID = run.UID
		call := ocsf.Resource{Type: "ToolCall", Name: toolOf(s, a.CallID), UID: a.CallID, Data: known(map[string]any{
			"ask": a.ID, "kind": string(a.Kind), "digest": a.Digest, "rule": a.Rule, "domain": string(a.Domain), "execution": a.Execution,
			"decision": string(a.Decision), "outcome": string(a.Outcome), "reason": a.Reason,
		})}
		e.Resources = []ocsf.Resource{run, {Type: "MotorStep", Name: s.Name, Namespace: s.Namespace, UID: string(s.UID)}, call}
		list = append(list, e)
	}
	return list
}

func operationOf(a *v1alpha1.StepAsk) string {
	switch a.Outcome {
	case v1alpha1.AskApproved:
		return OpApprove
	case v1alpha1.AskDenied:
		return OpDeny
	case v1alpha1.AskExpired:
		return OpExpire
	case v1alpha1.AskAnswered:
	}
	if a.Kind == v1alpha1.InputOutcomeUnknown {
		return OpSettle
	}
	return OpAnswer
}

func toolOf(s *v1alpha1.MotorStep, callID string) string {
	for i := range s.Spec.ToolCalls {
		if c := &s.Spec.ToolCalls[i]; c.ID == callID {
			return c.Tool
		}
	}
	return unknownName
}

// ofSkill are who approved, revoked or rejected a skill, and which content with which policy.
func ofSkill(s *v1alpha1.Skill) []*ocsf.Event {
	event := func(operation string, at time.Time, user, content, policy string, data map[string]any) *ocsf.Event {
		id := []string{string(s.UID), operation, content, policy}
		if !at.IsZero() {
			// The same content can be approved again after it was revoked.
			id = append(id, at.UTC().Format(time.RFC3339))
		}
		e := made(operation, at, user, strings.Join(id, "/"))
		data["contentHash"], data["policyHash"] = content, policy
		e.Resources = []ocsf.Resource{{Type: "Skill", Name: s.Name, Namespace: s.Namespace, UID: string(s.UID), Data: known(data)}}
		e.Metadata.CorrelationUID = string(s.UID)
		return e
	}
	var list []*ocsf.Event
	if a := s.Status.Approved; a != nil {
		// The account wrote the approval; a name that it carried out of Git is what it says.
		user := a.Account
		if user == "" {
			user = a.ApprovedBy
		}
		list = append(list, event(OpApprove, a.ObservedTime.Time, user, a.ContentHash, a.PolicyHash, map[string]any{"revision": a.RevisionName, "approvedBy": a.ApprovedBy}))
	}
	if a := s.Spec.Approval; a != nil && a.Decision == v1alpha1.SkillDecisionRevoked {
		user := a.Account
		if user == "" {
			user = a.ApprovedBy
		}
		e := event(OpRevoke, time.Time{}, user, a.ContentHash, a.PolicyHash, map[string]any{"reason": a.Note})
		e.Metadata.UID += "/" + distinct(user, a.ApprovedBy, a.Note)
		list = append(list, e)
	}
	for i := range s.Spec.Rejections {
		r := &s.Spec.Rejections[i]
		e := event(OpReject, time.Time{}, r.RejectedBy, r.ContentHash, "", map[string]any{"reason": r.Note})
		e.Metadata.UID += "/" + distinct(r.RejectedBy, r.Note)
		list = append(list, e)
	}
	return list
}

// distinct tells decisions apart that have no time: the same content can be revoked and rejected again, by another account or for another reason.
func distinct(parts ...string) string {
	sum := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(sum, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(sum.Sum(nil)[:6])
}

// known returns what has a value, nil if nothing has.
func known(data map[string]any) map[string]any {
	for name, value := range data {
		if text, ok := value.(string); ok && text == "" {
			delete(data, name)
		}
		if list, ok := value.([]string); ok && len(list) == 0 {
			delete(data, name)
		}
	}
	if len(data) == 0 {
		return nil
	}
	return data
}

func texts[T ~string](list []T) []string {
	var all []string
	for _, t := range list {
		all = append(all, string(t))
	}
	return all
}
