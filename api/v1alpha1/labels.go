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
	// LabelManagedBy is the well-known label that says who writes an object.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// ManagedBy is the value of LabelManagedBy on everything that the operator creates.
	ManagedBy = "motorcortex"
	// CortexName is the only name that a MotorCortex may have.
	CortexName = "default"
)
