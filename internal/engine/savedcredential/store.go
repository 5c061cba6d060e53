// SPDX-License-Identifier: Apache-2.0

// Package savedcredential stores the credentials that a run saves with save_credential as Secrets.
package savedcredential

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/credential"
	"motorcortex.dev/motorcortex/internal/egress/allowlist"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/runpolicy/reach"
	"motorcortex.dev/motorcortex/internal/secret/redact"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

const (
	// Key is the key of a saved credential's Secret that has the value.
	Key = "value"
	// maxSaves bounds how many Secrets a run creates, and how many values its loop hides.
	maxSaves = 32
	// maxSavedHosts is as many as spec.credentials allows for one credential.
	maxSavedHosts = 16

	annotationName    = "motorcortex.dev/credential-name"
	annotationSavedBy = "motorcortex.dev/saved-by-run"
)

// credentialName is the pattern of the name in spec.credentials.
var credentialName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,61}[a-z0-9]$`)

// SecretName is the name of the Secret that holds a saved credential.
func SecretName(name string) string { return reach.SavedSecret(name).Name }

// Store stores the credentials that a run found as Secrets in the run's namespace. The value comes from a file of the sandbox, so
// that no model need read it; from then on it is redacted wherever it appears.
type Store struct {
	Env    *runenv.Env
	Client *toolclient.Client
	// Lent reports whether a text contains a value that was given to the sandbox for its own use.
	Lent func(text []byte) bool
	// saves counts the calls of save_credential that the journal has.
	saves int
}

// Recall registers the credentials that the run has saved before this loop.
func (c *Store) Recall(ctx context.Context, steps []v1alpha1.MotorStep) error {
	seen := map[string]bool{}
	for i := range steps {
		for _, call := range steps[i].Spec.ToolCalls {
			if call.Tool != toolapi.ToolSaveCredential {
				continue
			}
			c.saves++
			args, err := ParseSave(call.Arguments)
			if err != nil || seen[args.Name] {
				continue
			}
			seen[args.Name] = true
			s, err := c.get(ctx, SecretName(args.Name))
			if client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("read the credentials that the run has saved: %w", err)
			}
			if err == nil && isSaved(s) {
				c.Env.Known.AddCredential(args.Name, "", s.Data[Key])
			}
		}
	}
	return nil
}

// Save serves a save_credential call. Repeating it has no further effect.
func (c *Store) Save(ctx context.Context, arguments string) (toolapi.Result, error) {
	if !slices.Contains(c.Env.Run.Spec.Tools, v1alpha1.ToolName(toolapi.ToolSaveCredential)) {
		return *toolapi.Refusal(toolapi.CodeToolNotGranted, "this run was not granted the tool save_credential"), nil
	}
	if c.saves++; c.saves > maxSaves {
		return *toolapi.Refusal(toolapi.CodeCredentialRefused, fmt.Sprintf("a run saves credentials at most %d times", maxSaves)), nil
	}
	args, err := ParseSave(arguments)
	if err != nil {
		return *toolapi.Refusal(toolapi.CodeInvalidArguments, err.Error()), nil
	}
	hosts, err := c.hosts(args.Hosts)
	if err == nil {
		err = c.declared(args.Name, hosts)
	}
	if err != nil {
		return *toolapi.Refusal(toolapi.CodeCredentialRefused, err.Error()), nil
	}
	content, err := c.Client.GetFile(ctx, args.Path)
	if remote, ok := toolclient.RemoteProblem(err); ok {
		return *toolapi.Refusal(fileCode(remote.Code), c.Env.Known.Hide("the file cannot be read: "+remote.Message)), nil
	}
	if err != nil {
		return toolapi.Result{}, c.Env.Classify(ctx, err)
	}
	value, err := savedValue(content)
	if err == nil {
		err = c.own(value)
	}
	if err != nil {
		return *toolapi.Refusal(toolapi.CodeCredentialRefused, err.Error()), nil
	}
	if !c.Env.Lease.MayDecide() {
		return toolapi.Result{}, runenv.ErrNoLease
	}
	// It is registered before it is written: from then on it can come back from anywhere.
	c.Env.Known.AddCredential(args.Name, "", value)
	why, err := c.write(ctx, args.Name, hosts, value)
	if err != nil {
		return toolapi.Result{}, c.Env.Known.HideError(err)
	}
	if why != "" {
		return *toolapi.Refusal(toolapi.CodeCredentialRefused, c.Env.Known.Hide(why)), nil
	}
	if c.belongsToSkill(args.Name) {
		return toolapi.Result{OK: true, Provenance: toolapi.ProvenanceInternal, Output: fmt.Sprintf(
			"Saved as Secret %s, key %s, for %s. Runs of the skill %s use it from now on, this one within half a minute. Delete the file if nothing needs it any more.",
			SecretName(args.Name), Key, strings.Join(hosts, ", "), c.Env.Run.Status.Skill.Name)}, nil
	}
	return toolapi.Result{OK: true, Provenance: toolapi.ProvenanceInternal, Output: fmt.Sprintf(
		"Saved as Secret %s, key %s, for %s. This run cannot use it. A later run does by an entry in its spec.credentials: "+
			"name %s, secretRef {name: %s, key: %s}, hosts. Delete the file if nothing needs it any more.",
		SecretName(args.Name), Key, strings.Join(hosts, ", "), args.Name, SecretName(args.Name), Key)}, nil
}

// ParseSave reads the arguments of a save_credential call.
func ParseSave(arguments string) (toolapi.SaveCredentialArgs, error) {
	var args toolapi.SaveCredentialArgs
	dec := json.NewDecoder(strings.NewReader(arguments))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&args); err != nil {
		return args, fmt.Errorf("the arguments cannot be read: %w", err)
	}
	switch {
	case !credentialName.MatchString(args.Name):
		return args, errors.New(`"name" must have 2 to 63 lower-case letters, digits and _, begin with a letter and end with no _`)
	case args.Path == "":
		return args, errors.New(`"path" must not be empty`)
	case len(args.Hosts) == 0 || len(args.Hosts) > maxSavedHosts:
		return args, fmt.Errorf(`"hosts" must have 1 to %d items`, maxSavedHosts)
	}
	return args, nil
}

// hosts returns the hosts of a credential in the form of spec.credentials. Each is one that the run may
// reach: a run must not make later ones send data to hosts that it could not reach itself.
func (c *Store) hosts(given []string) ([]string, error) {
	var allowed allowlist.List
	for _, d := range reach.Granted(c.Env.Run) {
		rule, err := allowlist.ParseRule(string(d))
		if err != nil {
			return nil, fmt.Errorf("the domain %s of the run cannot be read: %w", d, err)
		}
		allowed = append(allowed, rule)
	}
	var hosts []string
	for i, h := range given {
		rule, err := allowlist.ParseRule(h)
		switch {
		case err != nil:
			return nil, fmt.Errorf("hosts[%d]: %w", i, err)
		case !allowed.Covers(rule):
			return nil, fmt.Errorf("hosts[%d]: %s is not one of the domains that this run may reach", i, rule)
		case !slices.Contains(hosts, rule.String()):
			hosts = append(hosts, rule.String())
		}
	}
	return hosts, nil
}

// declared checks a credential in a run of an approved skill. It refuses one that the skill does not declare, or hosts that the skill does not
// declare for it: the person who approved the skill saw its credentials, and no others.
func (c *Store) declared(name string, hosts []string) error {
	declared, bySkill := reach.Declared(c.Env.Run, name)
	switch {
	case !bySkill:
		return nil
	case declared == nil:
		return fmt.Errorf("the skill %s declares no credential %s: a run of it saves those of its policy alone; a person can add it to spec.policy.credentials",
			c.Env.Run.Status.Skill.Name, name)
	}
	var allowed allowlist.List
	for _, h := range declared.Hosts {
		if rule, err := allowlist.ParseRule(string(h)); err == nil {
			allowed = append(allowed, rule)
		}
	}
	for i, h := range hosts {
		if rule, err := allowlist.ParseRule(h); err != nil || !allowed.Covers(rule) {
			return fmt.Errorf("hosts[%d]: the skill %s sends the credential %s to other hosts than %s", i, c.Env.Run.Status.Skill.Name, name, h)
		}
	}
	return nil
}

// belongsToSkill reports whether the Secret of a saved credential is the one that the run's approved skill uses under that name. A person
// decided so, and a later run of the skill may replace its value.
func (c *Store) belongsToSkill(name string) bool {
	declared, _ := reach.Declared(c.Env.Run, name)
	return declared != nil && (declared.SecretRef == nil || *declared.SecretRef == reach.SavedSecret(name))
}

// savedValue returns the content of a file, without the newline that programs end a line with. No error contains any of it.
func savedValue(content []byte) ([]byte, error) {
	value, cut := bytes.CutSuffix(content, []byte("\n"))
	if cut {
		value = bytes.TrimSuffix(value, []byte("\r"))
	}
	switch {
	case len(value) < redact.MinLength:
		return nil, fmt.Errorf("the file must have at least %d bytes: what is shorter cannot be kept secret", redact.MinLength)
	case len(value) > toolapi.MaxReadBytes:
		return nil, fmt.Errorf("the file must have at most %d bytes", toolapi.MaxReadBytes)
	case !utf8.Valid(value) || bytes.ContainsFunc(value, unicode.IsControl):
		return nil, errors.New("the file must hold the value in one line and nothing else")
	}
	return value, nil
}

// own refuses a value that does not belong to the run: a credential that the run only uses would otherwise be bound to other hosts
// under another name.
func (c *Store) own(value []byte) error {
	if c.Lent(value) {
		return errors.New("the file holds a credential, or a stand-in for one, that this run was given for its own use")
	}
	return nil
}

// savedBy names the run in the Secrets that it has saved.
func (c *Store) savedBy() string { return c.Env.Run.Name + "/" + string(c.Env.Run.UID) }

// write creates the Secret of a saved credential, or replaces the value of one that this run has saved. A run that could change
// the credentials of others would make them work for its own account. A run of the skill that owns the Secret replaces it: values expire. why is
// the reason for a refusal.
func (c *Store) write(ctx context.Context, name string, hosts []string, value []byte) (why string, err error) {
	secretName := SecretName(name)
	for range saveTries {
		var s *corev1.Secret
		s, err = c.get(ctx, secretName)
		switch {
		case apierrors.IsNotFound(err):
			s = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: secretName, Namespace: c.Env.Run.Namespace}, Type: credential.SecretType}
			c.fill(s, name, hosts, value)
			err = c.Env.Client.Create(ctx, s)
		case err != nil:
		case !isSaved(s):
			return fmt.Sprintf("there is a Secret %s in the namespace that no run has saved: choose another name", secretName), nil
		case s.Annotations[annotationSavedBy] != c.savedBy() && !c.belongsToSkill(name):
			return fmt.Sprintf("another run has saved the Secret %s, and later runs rely on it: choose another name, or ask the person to delete it", secretName), nil
		default:
			c.fill(s, name, hosts, value)
			err = c.Env.Client.Update(ctx, s)
		}
		switch {
		case err == nil:
			return "", nil
		case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
			return "", err
		case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
			return fmt.Sprintf("the cluster does not take the Secret: %v", err), nil
		case !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err):
			return "", fmt.Errorf("save the Secret %s: %w", secretName, err)
		}
		// Another writer changed it in between.
	}
	return "", fmt.Errorf("save the Secret %s: %w", secretName, err)
}

// saveTries is how many times write tries to write a Secret with concurrent writers.
const saveTries = 3

func (c *Store) fill(s *corev1.Secret, name string, hosts []string, value []byte) {
	metav1.SetMetaDataLabel(&s.ObjectMeta, v1alpha1.LabelComponent, v1alpha1.ComponentCredential)
	metav1.SetMetaDataLabel(&s.ObjectMeta, v1alpha1.LabelManagedBy, v1alpha1.ManagedBy)
	metav1.SetMetaDataAnnotation(&s.ObjectMeta, credential.AnnotationHosts, strings.Join(hosts, ","))
	metav1.SetMetaDataAnnotation(&s.ObjectMeta, annotationName, name)
	metav1.SetMetaDataAnnotation(&s.ObjectMeta, annotationSavedBy, c.savedBy())
	s.Data = map[string][]byte{Key: value}
}

// isSaved reports whether a run has saved the Secret: no other Secret may be changed, or read, for a run.
func isSaved(s *corev1.Secret) bool {
	return s.Type == credential.SecretType && s.Labels[v1alpha1.LabelComponent] == v1alpha1.ComponentCredential
}

func (c *Store) get(ctx context.Context, name string) (*corev1.Secret, error) {
	s := &corev1.Secret{}
	// This reads past the cache, which would list and watch the Secrets of the namespace.
	err := c.Env.Live.Get(ctx, types.NamespacedName{Namespace: c.Env.Run.Namespace, Name: name}, s)
	return s, err
}

func fileCode(code string) string {
	switch code {
	case toolapi.ErrNotFound:
		return toolapi.CodeNotFound
	case toolapi.ErrTooLarge:
		return toolapi.CodeTooLarge
	}
	return toolapi.CodeCredentialRefused
}
