// SPDX-License-Identifier: Apache-2.0

package run

// The rights of the manager. `make generate` writes config/rbac from these markers and from those that stand beside their code.
//
// +kubebuilder:rbac:groups=motorcortex.dev,resources=motorruns,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups=motorcortex.dev,resources=motorruns/status,verbs=patch
// +kubebuilder:rbac:groups=motorcortex.dev,resources=motorruns/finalizers,verbs=update
// +kubebuilder:rbac:groups=motorcortex.dev,resources=motorsteps,verbs=get;list;watch;create
// +kubebuilder:rbac:groups=motorcortex.dev,resources=motorsteps/status,verbs=patch
// +kubebuilder:rbac:groups=motorcortex.dev,resources=motorcortices,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
// The manager writes and deletes ConfigMaps outside its own namespace only for the artifacts of runs, the files of skills and their packages: the
// same policy ensures that.
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;create;delete
// The manager writes Secrets outside its own namespace only if a run saves them: an admission policy ensures that.
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;create;update
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=localsubjectaccessreviews,verbs=create
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;update;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingadmissionpolicies;validatingadmissionpolicybindings,resourceNames=motorcortex-accounts;motorcortex-adoptions;motorcortex-answer-files;motorcortex-answers;motorcortex-claims;motorcortex-claims-of-pods;motorcortex-credentials;motorcortex-endpoints;motorcortex-four-eyes;motorcortex-grants;motorcortex-networkpolicies;motorcortex-pod-bindings;motorcortex-pods;motorcortex-receiver-secrets;motorcortex-runs;motorcortex-sandbox-access;motorcortex-sandbox-shape;motorcortex-schedule-credentials;motorcortex-schedules;motorcortex-service-secrets;motorcortex-services;motorcortex-skill-files;motorcortex-skills;motorcortex-snapshots;motorcortex-steps,verbs=get
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingadmissionpolicies;mutatingadmissionpolicybindings,resourceNames=motorcortex-origin,verbs=get
// The recorder of the leader election writes events of the old kind, and replicas report their own problems.
// +kubebuilder:rbac:groups="";events.k8s.io,namespace=motorcortex-system,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=motorcortex-system,resources=leases,verbs=get;list;watch;create;update;delete
// +kubebuilder:rbac:groups="",namespace=motorcortex-system,resources=secrets,verbs=get;list;create;update;delete
// +kubebuilder:rbac:groups="",namespace=motorcortex-system,resources=configmaps,verbs=get;create;update
// +kubebuilder:rbac:groups="",namespace=motorcortex-system,resources=services,verbs=get
