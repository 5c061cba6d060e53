// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons of ModelAvailable, beside ModelNotConfigured, ModelSecretNotFound and ModelSecretKeyMissing. With those three and
// the first five here the condition Stalled is True: they do not pass by themselves.
const (
	// ReasonModelUnauthorized is a reason of ModelAvailable=False and Succeeded=False (ModelFailure).
	//
	// Meaning: The endpoint refused the API key, or wants one (401, 403). A 403 right after an answer with the same key is
	// ModelRefusedRequest.
	//
	// Do: Put a key that can use the model into its Secret. The run goes on by itself within two minutes.
	ReasonModelUnauthorized = "ModelUnauthorized"

	// ReasonModelQuotaExceeded is a reason of ModelAvailable=False and Succeeded=False (ModelFailure).
	//
	// Meaning: The account has no credit or quota left (402, insufficient_quota).
	//
	// Do: Give the account credit, or use another key.
	ReasonModelQuotaExceeded = "ModelQuotaExceeded"

	// ReasonModelNotFound is a reason of ModelAvailable=False and Succeeded=False (ModelFailure).
	//
	// Meaning: The endpoint has no such model, or no Chat Completions at that address (404, 405, a redirect).
	//
	// Do: Check the model's name and the base URL, which often ends in /v1.
	ReasonModelNotFound = "ModelNotFound"

	// ReasonModelCertificateInvalid is a reason of ModelAvailable=False and Succeeded=False (ModelFailure).
	//
	// Meaning: The manager does not trust the endpoint's certificate, or the endpoint does not speak TLS.
	//
	// Do: Check the base URL. Add the authority to the manager's image or SSL_CERT_DIR.
	ReasonModelCertificateInvalid = "ModelCertificateInvalid"

	// ReasonModelAddressRefused is a reason of ModelAvailable=False and Succeeded=False (ModelFailure).
	//
	// Meaning: The endpoint has an address that the manager does not connect with for a namespace: of a node, the API server,
	// loopback, link-local or metadata.
	//
	// Do: Check the base URL, or have the address allowed with --allowed-model-cidrs of the manager.
	ReasonModelAddressRefused = "ModelAddressRefused"

	// ReasonModelRateLimited is a reason of ModelAvailable=False and Succeeded=False (ModelFailure).
	//
	// Meaning: The endpoint answers "too many requests" (429). The replica asks with fewer loops at a time.
	//
	// Do: Wait, run fewer at a time, or raise the account's limit.
	ReasonModelRateLimited = "ModelRateLimited"

	// ReasonModelUnavailable is a reason of ModelAvailable=False and Succeeded=False (ModelFailure).
	//
	// Meaning: The endpoint cannot be reached, or answers with server errors (5xx).
	//
	// Do: Check the base URL, and that the manager's Pods can connect to it (HTTPS_PROXY in their ConfigMap if they need a
	// proxy).
	ReasonModelUnavailable = "ModelUnavailable"

	// ReasonModelTimeout is a reason of ModelAvailable=False and Succeeded=False (ModelFailure).
	//
	// Meaning: The endpoint sent nothing for idleTimeoutSeconds, or its answer took longer than requestTimeoutSeconds.
	//
	// Do: Raise them for a model that thinks long, and check that the endpoint is up.
	ReasonModelTimeout = "ModelTimeout"

	// ReasonModelMalformedAnswer is a reason of ModelAvailable=False and Succeeded=False (ModelFailure).
	//
	// Meaning: The endpoint answers something else than a chat completion, or breaks off.
	//
	// Do: Check the base URL: another service may answer there.
	ReasonModelMalformedAnswer = "ModelMalformedAnswer"

	// ReasonModelAnswers is a reason of ModelAvailable=True.
	//
	// Meaning: The model answers again.
	//
	// Do: Nothing.
	ReasonModelAnswers = "ModelAnswers"

	// ReasonModelNotAsked is a reason of ModelAvailable=Unknown.
	//
	// Meaning: The attempt that waited for the model is over, and no other attempt has asked it yet.
	//
	// Do: Nothing.
	ReasonModelNotAsked = "ModelNotAsked"
)

// Reasons of Succeeded that are about the model.
const (
	// ReasonModelRefusedRequest is a reason of Succeeded=False (ModelFailure).
	//
	// Meaning: The endpoint refused the request itself (400 and others): a content filter, or a model without tools.
	//
	// Do: Say in a retry what to avoid, or use another model.
	ReasonModelRefusedRequest = "ModelRefusedRequest"

	// ReasonModelWindowExceeded is a reason of Succeeded=False (ModelFailure).
	//
	// Meaning: The conversation does not fit into the model's window, however short it is made.
	//
	// Do: Set contextTokens of the model, split the task, or use a model with a larger window.
	ReasonModelWindowExceeded = "ModelWindowExceeded"

	// ReasonEmptyAnswers is a reason of Succeeded=False (ModelFailure).
	//
	// Meaning: The model gave two answers in a row with neither a call nor a whole text.
	//
	// Do: Use another model, or one with a larger output limit.
	ReasonEmptyAnswers = "EmptyAnswers"

	// ReasonNotFinished is a reason of Succeeded=False (ModelFailure).
	//
	// Meaning: The model gave two answers in a row without a tool call, and did not call finish: text, a call that is written as
	// text, or a stated intention. result.partial and the last step have its last words.
	//
	// Do: Retry. A model that cannot call a tool at the end needs `finish: Text` in its MotorCortex (`spec.models.default:
	// {model: NAME, finish: Text}`), which counts from its next answer on.
	ReasonNotFinished = "NotFinished"
)
