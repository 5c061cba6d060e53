// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const (
	// annotationHosts lists the hosts that the value of a Secret may be sent to, separated by commas.
	annotationHosts = "motorcortex.dev/hosts"
	// annotationCredential is the name of the credential that a run saved, and annotationSavedBy that of the run.
	annotationCredential = "motorcortex.dev/credential-name"
	annotationSavedBy    = "motorcortex.dev/saved-by-run"
	// credentialKey is the key of the value in its Secret.
	credentialKey = "value"
	// maxCredential is the most bytes of a value.
	maxCredential = 64 << 10
	// maxCredentials is the most credentials that are listed.
	maxCredentials = 500
)

var secrets = corev1.SchemeGroupVersion.WithResource("secrets")

// SavedCredential is a Secret that runs can use. Its value is never read.
type SavedCredential struct {
	// Secret is the name of the Secret, and Key that of the value in it.
	Secret string `json:"secret"`
	Key    string `json:"key"`
	// Name of the credential, if a run saved it, and that run.
	Name    string `json:"name,omitempty"`
	SavedBy string `json:"savedByRun,omitempty"`
	// Hosts are those that the value may be sent to.
	Hosts []string `json:"hosts"`
}

// Credentials lists the Secrets of the namespace that have the label motorcortex.dev/component=credential, without their values. It needs the right to
// list Secrets.
func (c *Client) Credentials(ctx context.Context) ([]SavedCredential, error) {
	list, err := c.clients.Metadata.Resource(secrets).Namespace(c.namespace).List(ctx, metav1.ListOptions{
		LabelSelector: v1alpha1.LabelComponent + "=" + v1alpha1.ComponentCredential, Limit: maxCredentials,
	})
	if err != nil {
		return nil, c.secretRefused("list the credentials of the namespace "+c.namespace, err)
	}
	found := make([]SavedCredential, 0, len(list.Items))
	for i := range list.Items {
		m := &list.Items[i]
		found = append(found, SavedCredential{
			Secret: m.Name, Key: credentialKey, Name: m.Annotations[annotationCredential], SavedBy: m.Annotations[annotationSavedBy], Hosts: hostsOf(m),
		})
	}
	return found, nil
}

func hostsOf(m metav1.Object) []string {
	hosts := []string{}
	for h := range strings.SplitSeq(m.GetAnnotations()[annotationHosts], ",") {
		if h = strings.TrimSpace(h); h != "" {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// beyond returns those of the hosts that the annotation of the Secret does not name. The label of credentials is not needed: runs use Secrets without it.
func (c *Client) beyond(ctx context.Context, secret string, hosts []v1alpha1.Domain) ([]v1alpha1.Domain, error) {
	m, err := c.clients.Metadata.Resource(secrets).Namespace(c.namespace).Get(ctx, secret, metav1.GetOptions{})
	if err != nil {
		return nil, c.secretRefused("get the metadata of the Secret "+secret, err)
	}
	named := hostsOf(m)
	return slices.DeleteFunc(slices.Clone(hosts), func(h v1alpha1.Domain) bool {
		return slices.ContainsFunc(named, func(rule string) bool { return within(string(h), rule) })
	}), nil
}

// within reports whether a rule of a Secret allows all that a host of a credential allows. A wildcard allows the names below its domain at the same port.
// Of two spellings of one port it knows none: consent is asked then.
func within(host, rule string) bool {
	if host == rule {
		return true
	}
	base, wildcard := strings.CutPrefix(rule, "*")
	return wildcard && strings.HasPrefix(base, ".") && strings.Contains(base[1:], ".") && strings.HasSuffix(strings.TrimPrefix(host, "*."), base)
}

// SetCredential stores a value in a Secret, for runs to use for these hosts. A Secret that is a credential already has both replaced, and any other one stays
// as it is, with an error. The error never has the value.
func (c *Client) SetCredential(ctx context.Context, secret, value string, hosts []v1alpha1.Domain) error {
	switch {
	case secret == "":
		return errors.New("the name of the Secret is empty")
	case value == "" || len(value) > maxCredential:
		return fmt.Errorf("the value of the credential %s has %d bytes: it must have 1 to %d", secret, len(value), maxCredential)
	case len(hosts) == 0:
		return fmt.Errorf("the credential %s names no hosts: without them its value is sent to none", secret)
	}
	all := make([]string, 0, len(hosts))
	for _, h := range hosts {
		if strings.ContainsAny(string(h), ", \t\r\n") || h == "" {
			return fmt.Errorf("the host %q of the credential %s is no host name", h, secret)
		}
		all = append(all, string(h))
	}
	annotations := map[string]string{annotationHosts: strings.Join(all, ",")}
	there, err := c.credential(ctx, secret)
	if apierrors.IsNotFound(err) {
		_, err := c.clients.Core.CoreV1().Secrets(c.namespace).Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Name: secret, Namespace: c.namespace, Annotations: annotations, Labels: map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentCredential},
			},
			Data: map[string][]byte{credentialKey: []byte(value)},
		}, metav1.CreateOptions{})
		if err != nil {
			return c.secretRefused("create the Secret "+secret, err)
		}
		return nil
	}
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": there.GetUID(), "annotations": annotations},
		"data":     map[string][]byte{credentialKey: []byte(value)},
	})
	if err != nil {
		return err
	}
	if _, err := c.clients.Core.CoreV1().Secrets(c.namespace).Patch(ctx, secret, types.MergePatchType, body, metav1.PatchOptions{}); err != nil {
		return c.secretRefused("change the Secret "+secret, err)
	}
	return nil
}

// DeleteCredential deletes the Secret of a credential. A Secret that is none stays, with an error.
func (c *Client) DeleteCredential(ctx context.Context, secret string) error {
	there, err := c.credential(ctx, secret)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("there is no credential %s in the namespace %s: list them: %w", secret, c.namespace, err)
	case err != nil:
		return err
	}
	uid := there.GetUID()
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
	if err := c.clients.Core.CoreV1().Secrets(c.namespace).Delete(ctx, secret, options); err != nil {
		return c.secretRefused("delete the Secret "+secret, err)
	}
	return nil
}

// credential reads the metadata of the Secret of a credential.
func (c *Client) credential(ctx context.Context, secret string) (metav1.Object, error) {
	m, err := c.clients.Metadata.Resource(secrets).Namespace(c.namespace).Get(ctx, secret, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, err
	case err != nil:
		return nil, c.secretRefused("get the metadata of the Secret "+secret, err)
	case m.Labels[v1alpha1.LabelComponent] != v1alpha1.ComponentCredential:
		return nil, fmt.Errorf("the Secret %s is there and is no credential: it has not the label %s=%s. Choose another name", secret, v1alpha1.LabelComponent, v1alpha1.ComponentCredential)
	}
	return m, nil
}

// secretRefused is refused of a request about a Secret.
func (c *Client) secretRefused(what string, err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%s: %w. Have a role with the verbs get, list, create, patch and delete on Secrets bound to this account in the namespace %s", what, err, c.namespace)
	}
	return c.refused(what, err, "edit")
}

// user asks the cluster who the account is.
func (c *Client) user(ctx context.Context) (string, error) {
	review, err := c.clients.Core.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	switch {
	case err != nil:
		return "", fmt.Errorf("ask the cluster who this account is: %w", err)
	case review.Status.UserInfo.Username == "":
		return "", errors.New("the cluster does not say who this account is")
	}
	return review.Status.UserInfo.Username, nil
}
