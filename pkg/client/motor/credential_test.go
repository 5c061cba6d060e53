// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8stesting "k8s.io/client-go/testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// holds puts a Secret into the cluster, with these labels.
func (r *rig) holds(name string, labels map[string]string) {
	r.t.Helper()
	meta := metav1.ObjectMeta{Name: name, Namespace: "ns", UID: "secret", Labels: labels, Annotations: map[string]string{annotationHosts: "a.example.org, b.example.org", annotationSavedBy: "run-1"}}
	partial := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: meta}
	if err := r.meta.Tracker().Add(partial); err != nil {
		r.t.Fatal(err)
	}
	if err := r.core.Tracker().Add(&corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"value": []byte("old")}}); err != nil {
		r.t.Fatal(err)
	}
}

var ofCredential = map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentCredential}

func TestCredentialsAreListedWithoutTheirValues(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.holds("key", ofCredential)
	got, err := r.Credentials(t.Context())
	if err != nil || len(got) != 1 || got[0].Secret != "key" || strings.Join(got[0].Hosts, " ") != "a.example.org b.example.org" || got[0].SavedBy != "run-1" || got[0].Key != "value" {
		t.Errorf("%+v, %v", got, err)
	}
	if n := len(r.core.Actions()); n != 0 {
		t.Errorf("%d requests read more than metadata", n)
	}
}

func TestSetCredential(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		labels map[string]string // of the Secret that is there, nil for none
		value  string
		hosts  []v1alpha1.Domain
		says   string
		want   string
	}{
		"a new one":        {nil, "hidden", []v1alpha1.Domain{"example.org"}, "", "hidden"},
		"another value":    {ofCredential, "hidden", []v1alpha1.Domain{"example.org"}, "", "hidden"},
		"another Secret":   {map[string]string{"app": "x"}, "hidden", []v1alpha1.Domain{"example.org"}, "is no credential", "old"},
		"no value":         {nil, "", []v1alpha1.Domain{"example.org"}, "has 0 bytes", ""},
		"a long value":     {nil, strings.Repeat("x", maxCredential+1), []v1alpha1.Domain{"example.org"}, "it must have 1 to", ""},
		"no hosts":         {nil, "hidden", nil, "names no hosts", ""},
		"two hosts as one": {nil, "hidden", []v1alpha1.Domain{"a.example.org,evil.example.org"}, "is no host name", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			if tt.labels != nil {
				r.holds("key", tt.labels)
			}
			err := r.SetCredential(t.Context(), "key", tt.value, tt.hosts)
			if tt.says != "" {
				wantError(t, err, tt.says)
				if tt.value != "" && strings.Contains(err.Error(), tt.value) {
					t.Error("the error has the value")
				}
			} else if err != nil {
				t.Fatal(err)
			}
			s, err := r.core.CoreV1().Secrets("ns").Get(t.Context(), "key", metav1.GetOptions{})
			if tt.want == "" {
				if !apierrors.IsNotFound(err) {
					t.Errorf("there is %+v, %v", s, err)
				}
				return
			}
			if err != nil || string(s.Data["value"]) != tt.want || tt.says == "" && (s.Annotations[annotationHosts] != "example.org" || s.Labels[v1alpha1.LabelComponent] != v1alpha1.ComponentCredential) {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
}

func TestDeleteCredential(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	wantError(t, r.DeleteCredential(t.Context(), "key"), "there is no credential key")
	r.holds("key", ofCredential)
	r.holds("other", map[string]string{"app": "x"})
	wantError(t, r.DeleteCredential(t.Context(), "other"), "is no credential")
	if err := r.DeleteCredential(t.Context(), "key"); err != nil {
		t.Error(err)
	}
	list, err := r.core.CoreV1().Secrets("ns").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 || list.Items[0].Name != "other" {
		t.Errorf("%+v, %v", list.Items, err)
	}
}

func TestCredentialsWithoutARight(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.meta.PrependReactor("*", "secrets", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", nil)
	})
	_, err := r.Credentials(t.Context())
	wantError(t, err, "list the credentials of the namespace ns", "on Secrets")
	wantError(t, r.SetCredential(t.Context(), "key", "hidden", []v1alpha1.Domain{"example.org"}), "get the metadata of the Secret key")
}

func TestWithin(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		host, rule string
		want       bool
	}{
		{"a.org", "a.org", true},
		{"x.a.org", "a.org", false},
		{"x.a.org", "*.a.org", true},
		{"*.x.a.org", "*.a.org", true},
		{"*.a.org", "*.a.org", true},
		{"a.org", "*.a.org", false},
		{"xa.org", "*.a.org", false},
		{"*.a.org", "x.a.org", false},
		{"x.a.org:8443", "*.a.org", false},
		{"x.a.org:8443", "*.a.org:8443", true},
		{"x.a.org", "*.a.org:8443", false},
		{"evil.com", "*.com", false},
		{"evil.com", "*", false},
		{"evil.com", "*.", false},
		{"evil.com", "*m", false},
	} {
		if got := within(tt.host, tt.rule); got != tt.want {
			t.Errorf("%s within %s: %t", tt.host, tt.rule, got)
		}
	}
}
