// SPDX-License-Identifier: Apache-2.0

package box

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/engine/redacting"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// DefaultEgressTimeout is how long the connection from a sandbox to the egress proxy may take to open.
const DefaultEgressTimeout = 15 * time.Second

// WayOut is the egress of a run's sandbox, nil if it has none.
type WayOut struct {
	env    *runenv.Env
	config Config
	// mu guards grant: each call reads it anew when it has ended, and calls that read run concurrently.
	mu sync.Mutex
	// grant is the latest grant of the proxy.
	grant *grant.Grant
}

func (w *WayOut) granted() *grant.Grant {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.grant
}

// OpenWayOut reads the grant of the run's sandbox, and registers its secret values before anything of the sandbox or of a
// model is read. A grant that has ended counts as missing until the leader has written it again: it ends while a run rests, so its values may be
// those of Secrets that were changed or deleted since, or of a right that was taken away.
func OpenWayOut(ctx context.Context, env *runenv.Env, config Config) (*WayOut, error) {
	way, err := ReadWayOut(ctx, env, config)
	if err != nil || way == nil || env.APINow().Before(way.granted().ExpiresAt) {
		return way, err
	}
	return nil, WayOutMissing(env, "its grant has ended, and the leader of the managers has not written it again yet")
}

// ReadWayOut is OpenWayOut for a sandbox that gets nothing to do any more. The values of a grant that has ended must be hidden in its files, too.
func ReadWayOut(ctx context.Context, env *runenv.Env, config Config) (*WayOut, error) {
	if env.Run.Status.Egress == nil {
		return nil, nil
	}
	way := &WayOut{env: env, config: config}
	switch why, err := way.read(ctx); {
	case err != nil:
		return nil, err
	case why != "":
		return nil, WayOutMissing(env, why)
	}
	return way, nil
}

// WayOutMissing returns the error for egress that is not there and may come.
func WayOutMissing(env *runenv.Env, why string) error {
	if env.MayComeBack() {
		return fmt.Errorf("open the way to the egress proxy: %w: %s", runenv.ErrMissing, why)
	}
	return wayOutUnavailable(why, true)
}

func wayOutUnavailable(why string, retryable bool) error {
	return &outcome.Failure{
		Category: outcome.InfraFailure, Reason: outcome.ReasonEgressUnavailable, Retryable: retryable,
		Message: fmt.Sprintf("The sandbox has no way to the egress proxy: %s. Look at the condition EgressReady, and at the egress proxy's Pods and logs.", why),
	}
}

func (w *WayOut) token() string {
	return grant.Token(w.config.EgressKey, string(w.env.Run.UID), w.env.Run.Status.Sandbox.PodUID, runpolicy.CurrentAttempt(w.env.Run).Index)
}

// read reads the current grant. If there is none for this attempt in this Pod, why is the reason: the controller writes
// one for each.
func (w *WayOut) read(ctx context.Context) (why string, err error) {
	name := types.NamespacedName{Namespace: w.config.GrantNamespace, Name: grant.SecretName(string(w.env.Run.UID))}
	var s corev1.Secret
	if err := w.env.Live.Get(ctx, name, &s); apierrors.IsNotFound(err) {
		return "the egress proxy was not told of it yet", nil
	} else if err != nil {
		return "", fmt.Errorf("get the grant of the run: %w", err)
	}
	if s.Type != grant.SecretType {
		return fmt.Sprintf("the Secret %s is of type %q and no grant", name, s.Type), nil
	}
	g, err := grant.Decode(s.Data)
	if err != nil {
		return fmt.Sprintf("the Secret %s cannot be read: %v", name, err), nil
	}
	token := w.token()
	if g.RunUID != string(w.env.Run.UID) || g.PodUID != w.env.Run.Status.Sandbox.PodUID || g.TokenHash != grant.HashToken(token) {
		return "the egress proxy was told of another sandbox or attempt", nil
	}
	w.mu.Lock()
	w.grant = g
	w.mu.Unlock()
	w.env.Known.AddGrant(g, token)
	return "", nil
}

// Refresh learns values that have replaced others since: a host's response may contain the new one. A deleted grant
// has no values to learn.
func (w *WayOut) Refresh(ctx context.Context) error {
	if w == nil || len(w.granted().Credentials) == 0 {
		return nil
	}
	_, err := w.read(ctx)
	return err
}

// Holds reports whether a text contains a value that was given to the sandbox for its own use.
func (w *WayOut) Holds(text []byte) bool {
	if w == nil {
		return false
	}
	var given redacting.Secrets
	given.AddGrant(w.granted(), w.token())
	return given.Hide(string(text)) != string(text)
}

// Exists reports whether there are any egress settings for the tool server.
func (w *WayOut) Exists() bool {
	r := w.request()
	return r.Proxy != "" || len(r.Environment) > 0
}

// request returns the egress settings for the tool server. A sandbox that can reach nothing gets exposed credentials only: a handle
// is of no use without the proxy.
func (w *WayOut) request() toolapi.EgressRequest {
	var r toolapi.EgressRequest
	if w == nil {
		return r
	}
	if r.Proxy = w.env.Run.Status.Egress.Proxy; r.Proxy != "" {
		timeout := w.config.EgressTimeout
		if timeout <= 0 {
			timeout = DefaultEgressTimeout
		}
		r.Token, r.TimeoutMs = w.token(), int32(min(timeout.Milliseconds(), toolapi.MaxEgressTimeoutMs))
		if ca := w.granted().CA; ca != nil {
			r.CA = string(ca.Cert)
		}
	}
	for i := range w.env.Run.Spec.Credentials {
		c := &w.env.Run.Spec.Credentials[i]
		value, ok := w.standIn(c)
		if !ok || r.Proxy == "" && !c.ExposeToSandbox {
			continue
		}
		if r.Environment == nil {
			r.Environment = map[string]string{}
		}
		r.Environment[strings.ToUpper(c.Name)] = value
	}
	return r
}

// standIn returns the stand-in of a credential in the sandbox: its handle, or the value itself if the run exposes it. A
// handle is the same for as long as the Pod lives, also while the credential cannot be used.
func (w *WayOut) standIn(c *v1alpha1.Credential) (string, bool) {
	if !c.ExposeToSandbox {
		return grant.Handle(w.config.EgressKey, string(w.env.Run.UID), w.env.Run.Status.Sandbox.PodUID, c.Name), true
	}
	credentials := w.granted().Credentials
	i := slices.IndexFunc(credentials, func(g grant.Credential) bool { return g.Name == c.Name })
	if i < 0 {
		return "", false
	}
	return string(credentials[i].Value.Reveal()), true
}

// setEgress sends the egress settings to the tool server and waits until the egress works, or removes obsolete settings of a sandbox
// whose egress is closed by now. No call is made before.
func (s *Box) setEgress(ctx context.Context, hello toolapi.Hello) error {
	request := s.WayOut.request()
	if request.Proxy == "" && len(request.Environment) == 0 && !hello.Egress {
		return nil
	}
	resp, err := s.Client.SetEgress(ctx, request)
	if remote, ok := toolclient.RemoteProblem(err); ok {
		return wayOutUnavailable(text.FirstBytes(remote.Message, maxDetail), false)
	}
	if err != nil {
		return s.Env.Classify(ctx, err)
	}
	if request.Proxy != "" && !resp.Ready {
		return WayOutMissing(s.Env, text.FirstBytes(resp.Detail, maxDetail))
	}
	return nil
}

// maxDetail is how much of the tool server's text is passed on.
const maxDetail = 300

// reference is how the model names a credential.
var reference = regexp.MustCompile(`<credential:([a-z0-9_]+)>`)

// resolve replaces the names of the run's credentials in the arguments of a call with their stand-ins. It
// returns the same for the same call as long as the Pod lives, so that a repeated call is the same call; only an
// exposed value can change in between.
func (w *WayOut) resolve(arguments json.RawMessage) json.RawMessage {
	if w == nil || !strings.Contains(string(arguments), "credential:") {
		return arguments
	}
	resolved, changed := mapStrings(string(arguments), func(text string) string {
		return reference.ReplaceAllStringFunc(text, func(found string) string {
			name := reference.FindStringSubmatch(found)[1]
			i := slices.IndexFunc(w.env.Run.Spec.Credentials, func(c v1alpha1.Credential) bool { return c.Name == name })
			if i < 0 {
				return found
			}
			if value, ok := w.standIn(&w.env.Run.Spec.Credentials[i]); ok {
				return value
			}
			return found
		})
	})
	if !changed {
		return arguments
	}
	return json.RawMessage(resolved)
}

// mapStrings applies f to every string of a JSON text, names of fields not included, and reports whether that changed any. A
// text that is no JSON is returned unchanged.
func mapStrings(text string, f func(string) string) (string, bool) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber() // A float64 would change large numbers.
	var v any
	if err := dec.Decode(&v); err != nil || dec.More() {
		return text, false
	}
	changed := false
	v = mapValue(v, func(s string) string {
		mapped := f(s)
		changed = changed || mapped != s
		return mapped
	})
	if !changed {
		return text, false
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return text, false
	}
	return strings.TrimSuffix(b.String(), "\n"), true
}

func mapValue(v any, f func(string) string) any {
	switch v := v.(type) {
	case string:
		return f(v)
	case []any:
		for i := range v {
			v[i] = mapValue(v[i], f)
		}
	case map[string]any:
		for name := range v {
			v[name] = mapValue(v[name], f)
		}
	}
	return v
}
