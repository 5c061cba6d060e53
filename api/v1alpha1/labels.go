// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"crypto/sha256"
	"encoding/hex"
)

const (
	// LabelRun is the name of the MotorRun that an object belongs to. A sandbox Pod that was taken from a SandboxPool may lack it.
	LabelRun = "motorcortex.dev/run"
	// LabelComponent tells sandbox Pods from everything else; the NetworkPolicies select by it.
	LabelComponent = "motorcortex.dev/component"
	// ComponentSandbox is the value of LabelComponent on a sandbox Pod and on its NetworkPolicies.
	ComponentSandbox = "sandbox"
	// LabelPool on a sandbox Pod is the name of its SandboxPool. A run that takes the Pod and may get a way out removes it.
	LabelPool = "motorcortex.dev/pool"
	// AnnotationPool on a sandbox Pod that a run has taken is the name of the SandboxPool that it was from.
	AnnotationPool = "motorcortex.dev/pool"
	// AnnotationAttempt on such a Pod is the number of the attempt that took it.
	AnnotationAttempt = "motorcortex.dev/attempt"
	// ComponentWorker is the value of LabelComponent on the Lease by which a replica of the manager shows that it lives.
	ComponentWorker = "worker"
	// AnnotationTraceParent on a MotorRun is the traceparent of the W3C Trace Context that the run is a part of. The creator of the run sets it. A later
	// change splits the trace.
	AnnotationTraceParent = "motorcortex.dev/traceparent"
	// AnnotationVersion on the Lease of a replica of the manager is its version.
	AnnotationVersion = "motorcortex.dev/version"
	// AnnotationSlots on the Lease of a replica of the manager is how many runs it carries on at once, at least 1. Without it there is no bound.
	AnnotationSlots = "motorcortex.dev/slots"
	// ComponentTime is the value of LabelComponent on the Lease by which the leader shows that time is observed.
	ComponentTime = "time"
	// ComponentEgressGrant is the value of LabelComponent on the Secrets, in the operator's namespace, by which the egress
	// proxy knows what each sandbox may reach.
	ComponentEgressGrant = "egress-grant"
	// ComponentCredential is the value of LabelComponent on the Secrets that runs have saved.
	ComponentCredential = "credential"
	// ComponentArtifact is the value of LabelComponent on the ConfigMaps that hold what runs leave behind.
	ComponentArtifact = "artifact"
	// ComponentInputs is the value of LabelComponent on the ConfigMaps in which clients put the large files of a run that they create. The run is
	// their owner.
	ComponentInputs = "inputs"
	// ComponentSkill is the value of LabelComponent on the ConfigMaps that hold the files of SkillRevisions.
	ComponentSkill = "skill"
	// ComponentPackages is the value of LabelComponent on the ConfigMaps that hold installed packages.
	ComponentPackages = "packages"
	// LabelSkill is the name of the Skill that an object belongs to, as SkillLabel gives it.
	LabelSkill = "motorcortex.dev/skill"
	// LabelSchedule on a MotorRun is the name of the MotorSchedule that the manager made it for. Only the manager writes it.
	LabelSchedule = "motorcortex.dev/schedule"
	// AnnotationScheduledAt on such a MotorRun is the time of the schedule that it began for, after RFC 3339.
	AnnotationScheduledAt = "motorcortex.dev/scheduled-at"
	// AnnotationTemplate on a MotorRun is the name of the MotorRunTemplate that it was made of.
	AnnotationTemplate = "motorcortex.dev/template"
	// AnnotationTriggeredFrom on a MotorRun is the name of the MotorSchedule whose run a person made by hand.
	AnnotationTriggeredFrom = "motorcortex.dev/triggered-from"
	// AnnotationLeaving on a SkillRevision, with any value, says that it is going to be deleted: no run begins to use it.
	AnnotationLeaving = "motorcortex.dev/leaving"
	// AnnotationPath on such a ConfigMap is where the file was in the workspace.
	AnnotationPath = "motorcortex.dev/path"
	// LabelRunUID is the UID of the MotorRun that an object outside of its namespace belongs to, and of the one that made a Skill.
	LabelRunUID = "motorcortex.dev/run-uid"
	// LabelSandboxExec on a namespace, with the value "allowed", lets people run commands in the sandboxes of the namespace.
	LabelSandboxExec = "motorcortex.dev/sandbox-exec"
	// LabelSandboxNetworkPolicies on a namespace, with the value "allowed", lets people write NetworkPolicies that open the
	// sandboxes of the namespace.
	LabelSandboxNetworkPolicies = "motorcortex.dev/sandbox-networkpolicies"
	// AnnotationDomains on a run's NetworkPolicy lists, for people, what the egress proxy lets it reach.
	AnnotationDomains = "motorcortex.dev/domains"
	// LabelManagedBy is the well-known label that says who writes an object.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// ManagedBy is the value of LabelManagedBy on everything that the operator creates, but for sandboxes.
	ManagedBy = "motorcortex"
	// CortexName is the only name that a MotorCortex may have.
	CortexName = "default"
)

// SkillLabel is the value of LabelSkill for a name. A name can have one character more than a label takes: then it is cut, with a
// part of its hash at the end. Objects say whose they are by their owner references.
func SkillLabel(name string) string {
	const most = 63
	if len(name) <= most {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:most-13] + "." + hex.EncodeToString(sum[:])[:12]
}
