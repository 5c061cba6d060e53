// SPDX-License-Identifier: Apache-2.0

package cortex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/secret"
	"motorcortex.dev/motorcortex/internal/websearch"
)

// Endpoint is a model at an address. It does not print its key.
type Endpoint struct {
	// Namespace is the namespace of the runs that use the endpoint.
	Namespace string
	BaseURL   string
	Model     string
	APIKey    secret.Value
	// ContextTokens is the maximum of tokens that a request and its answer have together, 0 if it is not known.
	ContextTokens int32
	// TextEnds is true if a text of the model ends a run, and not only a call of finish. The manager's own endpoint has it where a MotorCortex names
	// that endpoint with finish: Text.
	TextEnds bool
	// IdleSeconds, RequestSeconds and OutageSeconds are the fields of v1alpha1.ModelEndpoint, 0 for their defaults.
	IdleSeconds, RequestSeconds, OutageSeconds int32
}

// Same reports whether both are the same model at the same address, asked with the same key.
func (e Endpoint) Same(other Endpoint) bool {
	return e.BaseURL == other.BaseURL && e.Model == other.Model && e.APIKey.Equal(other.APIKey)
}

// defaultOutageSeconds is how long a run waits for its model where no MotorCortex says so.
const defaultOutageSeconds = 3600

// WaitSeconds returns how long a run waits for a model that is unavailable.
func (e Endpoint) WaitSeconds() int32 { return cmp.Or(e.OutageSeconds, defaultOutageSeconds) }

// Problem is a configuration error that a person must correct; waiting for that is right, retrying is not.
type Problem struct {
	// Reason is a reason of the condition Accepted.
	Reason string
	// Message names what is missing, where, and what to do.
	Message string
}

func (p *Problem) Error() string { return p.Reason + ": " + p.Message }

// Resolver finds model endpoints.
type Resolver struct {
	// Cortex reads MotorCortex objects.
	Cortex client.Reader
	// Secrets reads Secrets one by one, never by list or watch.
	Secrets client.Reader
	// Default is the manager's own endpoint; its fields may be empty.
	Default Endpoint
}

// Resolve returns the endpoint for a run's loop. The error is a *Problem if a person must correct the configuration; the known part of the endpoint
// is returned with it all the same.
func (r Resolver) Resolve(ctx context.Context, run *v1alpha1.MotorRun) (Endpoint, error) {
	e, err := r.resolve(ctx, run.Namespace, Choose)
	if err != nil {
		return e, err
	}
	if run.Spec.Model != nil {
		e.Model = run.Spec.Model.Name
	}
	return e, check(e)
}

// ResolveMotor returns the endpoint of a namespace's loops, as Resolve does for a run that names no model.
func (r Resolver) ResolveMotor(ctx context.Context, namespace string) (Endpoint, error) {
	e, err := r.resolve(ctx, namespace, Choose)
	if err != nil {
		return e, err
	}
	return e, check(e)
}

// ResolveFast returns the endpoint for the small questions beside the loop of a namespace's runs, such as why an attempt failed. The error is a
// *Problem if there is none.
func (r Resolver) ResolveFast(ctx context.Context, namespace string) (Endpoint, error) {
	e, err := r.resolve(ctx, namespace, ChooseFast)
	if err != nil {
		return Endpoint{}, err
	}
	return e, check(e)
}

func (r Resolver) resolve(ctx context.Context, namespace string, choose func(v1alpha1.ModelSet) *v1alpha1.ModelEndpoint) (Endpoint, error) {
	c, err := Get(ctx, r.Cortex, namespace)
	if err != nil {
		return Endpoint{}, err
	}
	chosen := choose(c.Spec.Models)
	e := r.Default
	if chosen != nil {
		if e, err = r.endpoint(ctx, namespace, chosen); err != nil {
			return e, err
		}
	}
	e.Namespace = namespace
	return e, nil
}

// Choose follows the fallback chain of the loop's role: motor, fast, default. Nil means the manager's own.
func Choose(m v1alpha1.ModelSet) *v1alpha1.ModelEndpoint { return first(m.Motor, m.Fast, m.Default) }

// ChooseFast follows the fallback chain of the fast role: fast, default, motor. Nil means the manager's own.
func ChooseFast(m v1alpha1.ModelSet) *v1alpha1.ModelEndpoint {
	return first(m.Fast, m.Default, m.Motor)
}

func first(endpoints ...*v1alpha1.ModelEndpoint) *v1alpha1.ModelEndpoint {
	for _, e := range endpoints {
		if e != nil {
			return e
		}
	}
	return nil
}

func (r Resolver) endpoint(ctx context.Context, namespace string, m *v1alpha1.ModelEndpoint) (Endpoint, error) {
	e := Endpoint{
		BaseURL: m.BaseURL, Model: m.Model, ContextTokens: m.ContextTokens, TextEnds: m.Finish == v1alpha1.FinishText,
		IdleSeconds: m.IdleTimeoutSeconds, RequestSeconds: m.RequestTimeoutSeconds, OutageSeconds: m.OutageDeadlineSeconds,
	}
	if m.BaseURL == "" {
		e.BaseURL = r.Default.BaseURL
	}
	if m.APIKeySecretRef == nil {
		// The manager's key is sent to the manager's endpoint only: a namespace must not be able to redirect it.
		if m.BaseURL == "" {
			e.APIKey = r.Default.APIKey
		}
		return e, nil
	}
	if m.BaseURL == "" && e.BaseURL == "" {
		return e, nil
	}
	key, err := r.key(ctx, namespace, m.APIKeySecretRef, use{of: "model", what: apiKey, to: e.BaseURL})
	e.APIKey = key
	return e, err
}

// SearchKey returns the API key of a namespace's search provider, the zero Value if it has none. The error is a *Problem if a person must correct
// the configuration.
func (r Resolver) SearchKey(ctx context.Context, namespace string, p *v1alpha1.SearchProvider) (secret.Value, error) {
	if p.APIKeySecretRef == nil {
		return secret.Value{}, nil
	}
	to := p.URL
	if to == "" && p.Type == v1alpha1.SearchBrave {
		to = websearch.BraveURL
	}
	return r.key(ctx, namespace, p.APIKeySecretRef, use{of: "search provider", what: apiKey, to: to})
}

// SinkSecrets returns the value of the header Authorization and the signing key of a sink, each the zero Value if it has none. The error is a
// *Problem if a person must correct the configuration.
func (r Resolver) SinkSecrets(ctx context.Context, namespace string, s *v1alpha1.SignalSink) (authorization, signingKey secret.Value, err error) {
	if ref := s.AuthorizationSecretRef; ref != nil {
		if authorization, err = r.key(ctx, namespace, ref, use{of: "sink", what: "authorization", to: s.URL}); err != nil {
			return secret.Value{}, secret.Value{}, err
		}
	}
	if ref := s.SigningKeySecretRef; ref != nil {
		if signingKey, err = r.key(ctx, namespace, ref, use{of: "sink", what: "signing key", to: s.URL}); err != nil {
			return secret.Value{}, secret.Value{}, err
		}
	}
	return authorization, signingKey, nil
}

// ReceiverSecret returns a value that a receiver of notifications needs, the zero Value without a reference: what it is, is for messages. to is the URL
// of the receiver, "" if the value is that URL. The error is a *Problem if a person must correct the configuration.
func (r Resolver) ReceiverSecret(ctx context.Context, namespace string, ref *v1alpha1.SecretKeyRef, what, to string) (secret.Value, error) {
	if ref == nil {
		return secret.Value{}, nil
	}
	return r.key(ctx, namespace, ref, use{of: "receiver", what: what, to: to})
}

// apiKey is what the value of a Secret is, for a message.
const apiKey = "API key"

// use is what a value is, and of which service, for messages, and the URL that it is sent to, "" if it is that URL itself.
type use struct{ of, what, to string }

// key reads a value that is sent to a service.
func (r Resolver) key(ctx context.Context, namespace string, ref *v1alpha1.SecretKeyRef, u use) (secret.Value, error) {
	var s corev1.Secret
	err := r.Secrets.Get(ctx, types.NamespacedName{Namespace: namespace, Name: ref.Name}, &s)
	if apierrors.IsNotFound(err) {
		return secret.Value{}, &Problem{v1alpha1.ReasonModelSecretNotFound, fmt.Sprintf(
			"The Secret %s with the %s's %s does not exist in namespace %s. Create it with the key %s.", ref.Name, u.of, u.what, namespace, ref.Key)}
	}
	if err != nil {
		return secret.Value{}, fmt.Errorf("get the Secret of the %s's %s: %w", u.of, u.what, err)
	}
	if HoldsOtherThings(s.Type) {
		return secret.Value{}, &Problem{v1alpha1.ReasonModelSecretForbidden, fmt.Sprintf(
			"The Secret %s in namespace %s is of type %s, and no Secret of that type is sent to a %s. Put the %s into one of type Opaque.",
			ref.Name, namespace, s.Type, u.of, u.what)}
	}
	value := strings.TrimSpace(string(s.Data[ref.Key]))
	if value == "" {
		return secret.Value{}, &Problem{v1alpha1.ReasonModelSecretKeyMissing, fmt.Sprintf(
			"The Secret %s in namespace %s has no value under the key %s. Put the %s's %s there.", ref.Name, namespace, ref.Key, u.of, u.what)}
	}
	// A run saves a value for certain hosts. A client that writes the MotorCortex must not have it sent to others.
	if s.Type == CredentialType && !SavedFor(&s, cmp.Or(u.to, value)) {
		return secret.Value{}, &Problem{v1alpha1.ReasonModelSecretForbidden, fmt.Sprintf(
			"The Secret %s in namespace %s was saved by a run for %q, and the %s is another host. Put the %s into a Secret of type Opaque, or name the host in "+
				"the annotation %s.", ref.Name, namespace, s.Annotations[AnnotationHosts], u.of, u.what, AnnotationHosts)}
	}
	return secret.New(value), nil
}

func check(e Endpoint) error {
	const where = "in spec.models of the MotorCortex \"default\" of this namespace, or for all namespaces in the manager's Secret motorcortex-model (OPENAI_BASE_URL, OPENAI_API_KEY, OPENAI_MODEL)"
	switch {
	case e.BaseURL == "":
		return &Problem{v1alpha1.ReasonModelNotConfigured, "No model endpoint is configured. Set one " + where + "."}
	case e.Model == "":
		return &Problem{v1alpha1.ReasonModelNotConfigured, "No model is configured. Name one in spec.model.name, " + where + "."}
	}
	return nil
}

// AsProblem returns the Problem in an error, if there is one.
func AsProblem(err error) (*Problem, bool) {
	var p *Problem
	return p, errors.As(err, &p)
}
