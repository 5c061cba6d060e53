// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/credential"
	"motorcortex.dev/motorcortex/internal/egress/allowlist"
	"motorcortex.dev/motorcortex/internal/secret/redact"
)

const (
	// defaultKey is the key of a Secret that the guides use.
	defaultKey = "value"
	// fieldOwner is who wrote a Secret, in its managed fields.
	fieldOwner client.FieldOwner = "kubectl-motor"
	// attempts bounds how often a Secret is written that another client makes or deletes meanwhile.
	attempts = 3
)

// setting are the flags of set.
type setting struct {
	name, key, file string
	hosts           []string
	// keyed is true if the person named the key, and adopt if a Secret without the label may become a credential.
	keyed, adopt bool
}

func (c Command) set() *cobra.Command {
	cmd := &cobra.Command{
		Use: "set NAME", Short: "Store a credential in a Secret, or replace its value.",
		Long: `Store a value in the Secret NAME, or replace the one that is there in one request: runs under way use the new one within seconds. Labels, annotations and other
keys of the Secret stay. A Secret without the label motorcortex.dev/component=credential is refused, unless you say --adopt.

The value comes by standard input or from a file. At a terminal you are asked for it, and it is not shown. It is never an argument.

--hosts names the hosts that runs may send the value to. Without it, those of the Secret stay.`,
		Example: `  kubectl motor credential set agentmail --hosts api.agentmail.test < key.txt
  kubectl motor credential set agentmail                # asks for the new value`,
		Args: func(_ *cobra.Command, args []string) error {
			// What is too much may be the value.
			switch len(args) {
			case 0:
				return verb.Misusedf("the NAME of the credential is missing")
			case 1:
				return checkName(args[0])
			}
			return verb.Misusedf("too many arguments: a value is not one of them, as it would stay in the history of the shell. Give it by standard input, or with --from-file")
		},
	}
	var o setting
	cmd.Flags().StringVar(&o.file, "from-file", "", "file with the value, - for standard input")
	cmd.Flags().StringVar(&o.key, "key", defaultKey, "key of the Secret")
	cmd.Flags().StringSliceVar(&o.hosts, "hosts", nil, "hosts that the value may be sent to, as in api.example.com,*.example.org")
	cmd.Flags().BoolVar(&o.adopt, "adopt", false, "make a credential of a Secret that is there and is none")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if strings.Contains(err.Error(), "shorthand") {
			// The error repeats all that was written after the dash.
			return verb.Misusedf("there is no such flag")
		}
		return verb.Misused(err)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.name, o.keyed = args[0], cmd.Flags().Changed("key")
		return c.setCredential(cmd.Context(), &o)
	}
	return cmd
}

func (c Command) setCredential(ctx context.Context, o *setting) error {
	for _, h := range o.hosts {
		if _, err := allowlist.ParseRule(h); err != nil {
			return verb.Misusedf("--hosts: %w", err)
		}
	}
	cl, namespace, err := c.Connect()
	if err != nil {
		return err
	}
	read, err := c.read(ctx, o.file, o.name)
	if err != nil {
		return err
	}
	value, defect := credential.Check(read, &v1alpha1.Credential{ExposeToSandbox: true})
	if defect != "" {
		return fmt.Errorf("the value %s: nothing was changed", defect)
	}
	hidden := redact.New(redact.Secret{Name: o.name, Value: value})
	done, stored, err := o.store(ctx, cl, namespace, value)
	if err != nil {
		// A webhook of the cluster may repeat what it was sent.
		return errors.New(hidden.String(fmt.Sprintf("%s: %v", o.what(namespace), err)))
	}
	fmt.Fprintf(c.Out, "secret/%s %s\n", o.name, done)
	c.notes(o, value, stored)
	return nil
}

func (o *setting) what(namespace string) string {
	return fmt.Sprintf("store the credential in the Secret %s/%s", namespace, o.name)
}

// store patches the Secret, or creates it.
func (o *setting) store(ctx context.Context, cl client.Client, namespace string, value []byte) (done string, stored *corev1.Secret, err error) {
	for range attempts {
		var there *metav1.PartialObjectMetadata
		if there, err = o.there(ctx, cl, namespace); err == nil {
			if done, err = o.check(there); err != nil {
				return "", nil, err
			}
			stored, err = o.patch(ctx, cl, there, value)
		}
		if apierrors.IsConflict(err) {
			continue
		}
		if !apierrors.IsNotFound(err) {
			return done, stored, err
		}
		stored = &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: o.name, Labels: labelled(), Annotations: o.annotations()},
			Type:       corev1.SecretTypeOpaque, Data: map[string][]byte{o.key: value},
		}
		if err = cl.Create(ctx, stored, fieldOwner); !apierrors.IsAlreadyExists(err) {
			return "created", stored, err
		}
	}
	return "", nil, err
}

// there is the metadata of the Secret. A dry run of a patch that changes nothing has it, for which the right to read Secrets is not needed.
func (o *setting) there(ctx context.Context, cl client.Client, namespace string) (*metav1.PartialObjectMetadata, error) {
	head := secretHead()
	head.Namespace, head.Name = namespace, o.name
	err := cl.Patch(ctx, head, client.RawPatch(types.MergePatchType, []byte("{}")), client.DryRunAll, fieldOwner)
	return head, err
}

// check returns what a write of the key does, and an error if the Secret is for something else or has its value under another key.
func (o *setting) check(head *metav1.PartialObjectMetadata) (done string, err error) {
	if head.Labels[v1alpha1.LabelComponent] != v1alpha1.ComponentCredential && !o.adopt {
		return "", fmt.Errorf("it is no credential, as it has no label %s=%s: choose another name, or say --adopt to make it one", v1alpha1.LabelComponent, v1alpha1.ComponentCredential)
	}
	switch keys := keysOf(head); {
	case len(keys) == 0 || slices.Contains(keys, o.key):
		return "replaced", nil
	case !o.keyed:
		return "", fmt.Errorf("it has its value under another key than %s: say which you mean, as in --key %s; it has %s", o.key, keys[0], strings.Join(keys, ", "))
	}
	return "has the key " + o.key + " added", nil
}

// keysOf are the keys of a Secret as far as its managed fields name them, sorted. Values are not in them.
func keysOf(head *metav1.PartialObjectMetadata) []string {
	keys := map[string]bool{}
	for _, m := range head.ManagedFields {
		var fields struct {
			Data map[string]json.RawMessage `json:"f:data"`
		}
		if m.FieldsV1 == nil || json.Unmarshal(m.FieldsV1.GetRawBytes(), &fields) != nil {
			continue
		}
		for field := range fields.Data {
			if key, named := strings.CutPrefix(field, "f:"); named {
				keys[key] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// patch replaces the value of a Secret that is as it was looked at, without a look at the value that it has. The type of a Secret never changes: that the patch
// names it has the API server refuse those in which no credential can be.
func (o *setting) patch(ctx context.Context, cl client.Client, there *metav1.PartialObjectMetadata, value []byte) (*corev1.Secret, error) {
	metadata := map[string]any{"labels": labelled(), "uid": there.UID, "resourceVersion": there.ResourceVersion}
	if annotations := o.annotations(); annotations != nil {
		// Null would take away those that are there.
		metadata["annotations"] = annotations
	}
	var err error
	for _, kind := range []corev1.SecretType{corev1.SecretTypeOpaque, credential.SecretType} {
		body, encodeErr := json.Marshal(map[string]any{"type": kind, "metadata": metadata, "data": map[string][]byte{o.key: value}})
		if encodeErr != nil {
			return nil, encodeErr
		}
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: there.Namespace, Name: o.name}}
		if err = cl.Patch(ctx, s, client.RawPatch(types.MergePatchType, body), fieldOwner); !ofAnotherType(err) {
			return s, err
		}
	}
	return nil, errors.New("it is neither of type Opaque nor a credential that a run saved: choose another name, or write it with kubectl")
}

// ofAnotherType reports whether a patch was refused for the type of the Secret.
func ofAnotherType(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && apierrors.IsInvalid(err) && status.ErrStatus.Details != nil &&
		slices.ContainsFunc(status.ErrStatus.Details.Causes, func(c metav1.StatusCause) bool { return c.Field == "type" })
}

func (o *setting) annotations() map[string]string {
	if len(o.hosts) == 0 {
		return nil
	}
	return map[string]string{credential.AnnotationHosts: strings.Join(o.hosts, ",")}
}

// notes says what a person might not expect of the stored credential.
func (c Command) notes(o *setting, value []byte, stored *corev1.Secret) {
	if _, defect := credential.Check(value, &v1alpha1.Credential{}); defect != "" {
		fmt.Fprintf(c.Err, "note: the value %s: runs can use it with exposeToSandbox alone\n", defect)
	}
	if stored.Annotations[credential.AnnotationHosts] == "" {
		fmt.Fprintf(c.Err, "note: it names no hosts that runs may send it to: kubectl motor credential set %s -n %s --key %s --hosts HOST,HOST\n", o.name, stored.Namespace, o.key)
	}
	if _, copied := stored.Annotations[corev1.LastAppliedConfigAnnotation]; copied {
		fmt.Fprintf(c.Err, "note: kubectl apply has left a copy of an earlier value: kubectl annotate secret %s -n %s %s-\n", o.name, stored.Namespace, corev1.LastAppliedConfigAnnotation)
	}
}
