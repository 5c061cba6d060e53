// SPDX-License-Identifier: Apache-2.0

package v1alpha1

const (
	// LabelRun is the name of the MotorRun that an object belongs to.
	LabelRun = "motorcortex.dev/run"
	// LabelComponent tells sandbox Pods from everything else; the NetworkPolicies select by it.
	LabelComponent = "motorcortex.dev/component"
	// ComponentSandbox is the value of LabelComponent on a sandbox Pod and on its NetworkPolicies.
	ComponentSandbox = "sandbox"
	// ComponentWorker is the value of LabelComponent on the Lease by which a replica of the manager shows that it lives.
	ComponentWorker = "worker"
	// ComponentEgressGrant is the value of LabelComponent on the Secrets, in the operator's namespace, by which the egress
	// proxy knows what each sandbox may reach.
	ComponentEgressGrant = "egress-grant"
	// ComponentCredential is the value of LabelComponent on the Secrets that runs have saved.
	ComponentCredential = "credential"
	// ComponentArtifact is the value of LabelComponent on the ConfigMaps that hold what runs leave behind.
	ComponentArtifact = "artifact"
	// AnnotationPath on such a ConfigMap is where the file was in the workspace.
	AnnotationPath = "motorcortex.dev/path"
	// LabelRunUID is the UID of the MotorRun that an object outside of its namespace belongs to.
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
	// ManagedBy is the value of LabelManagedBy on everything that the operator creates.
	ManagedBy = "motorcortex"
	// CortexName is the only name that a MotorCortex may have.
	CortexName = "default"
)
