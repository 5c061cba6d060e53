// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types of a MotorCortex.
const (
	// CortexReady is True when every service that the namespace's runs are configured to use is available.
	CortexReady = "Ready"
	// CortexModelAvailable is True when the endpoints of the namespace's models answer. Its reasons are those of the condition ModelAvailable of a
	// MotorRun.
	CortexModelAvailable = "ModelAvailable"
	// CortexSearchReady is True when the search provider can be asked. A MotorCortex without spec.search does not have it.
	CortexSearchReady = "SearchReady"
	// CortexArchiveReady is True when the manager can list the archive's bucket. It is there only where the manager has a bucket.
	CortexArchiveReady = "ArchiveReady"
)

// Reasons of the conditions of a MotorCortex. SearchReady is also False with ModelSecretNotFound, ModelSecretKeyMissing and
// ModelSecretForbidden, about the Secret of the provider's API key.
const (
	// ReasonCortexAvailable: everything that is configured can be reached.
	ReasonCortexAvailable = "Available"
	// ReasonModelNotListed: the endpoint answers, and its list of models does not name the model. Many endpoints serve names that they do not list.
	ReasonModelNotListed = "ModelNotListed"
	// ReasonSearchUnavailable: the search provider cannot be reached, or refuses.
	ReasonSearchUnavailable = "SearchUnavailable"
	// ReasonArchiveUnavailable: the bucket of the archive cannot be listed.
	ReasonArchiveUnavailable = "ArchiveUnavailable"
)
