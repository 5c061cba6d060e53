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
	// ReasonCortexAvailable is a reason of Ready=True, ModelAvailable=True, SearchReady=True and ArchiveReady=True of a MotorCortex.
	//
	// Meaning: Everything that is configured can be reached. Of Brave, which counts every request, only the key was looked for.
	//
	// Do: Nothing.
	ReasonCortexAvailable = "Available"

	// ReasonModelNotListed is a reason of ModelAvailable=True of a MotorCortex.
	//
	// Meaning: The endpoint answers, and its list of models does not name the model of spec.models. Many endpoints serve names that they do
	// not list.
	//
	// Do: Check the name. Nothing, if the endpoint serves names that it does not list.
	ReasonModelNotListed = "ModelNotListed"

	// ReasonSearchUnavailable is a reason of SearchReady=False of a MotorCortex.
	//
	// Meaning: The search provider cannot be reached, or refuses. The message says how.
	//
	// Do: Correct spec.search. A SearXNG instance must have json in search.formats.
	ReasonSearchUnavailable = "SearchUnavailable"

	// ReasonArchiveUnavailable is a reason of ArchiveReady=False of a MotorCortex.
	//
	// Meaning: The manager cannot list the archive's bucket. Runs go on meanwhile.
	//
	// Do: Read the manager's log, and see the guide of the archive.
	ReasonArchiveUnavailable = "ArchiveUnavailable"
)
