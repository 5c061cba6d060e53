// SPDX-License-Identifier: Apache-2.0

package credential_test

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestSetMakesASecret(t *testing.T) {
	t.Parallel()
	r := newRig(t, interceptor.Funcs{})
	r.in = strings.NewReader(value + "\n")
	r.want(0, []string{"set", "weather", "--hosts", "api.example.org,*.example.com"}, "secret/weather created\n")
	s := r.secret("weather")
	want := metav1.ObjectMeta{
		Name: "weather", Namespace: "ns", ResourceVersion: s.ResourceVersion, Labels: map[string]string{"motorcortex.dev/component": "credential"},
		Annotations: map[string]string{"motorcortex.dev/hosts": "api.example.org,*.example.com"},
	}
	s.ManagedFields = nil
	if diff := cmp.Diff(want, s.ObjectMeta); diff != "" || s.Type != corev1.SecretTypeOpaque || string(s.Data["value"]) != value || len(s.Data) != 1 {
		t.Errorf("type %s, %d keys%s", s.Type, len(s.Data), diff)
	}
	// Without hosts, and with a value that no request can carry.
	r.in = strings.NewReader("-----BEGIN-----\nkey\n")
	r.want(0, []string{"set", "key", "--key", "pem"}, "secret/key created", "note: the value has control characters or several lines", "note: it names no hosts")
	if string(r.secret("key").Data["pem"]) != "-----BEGIN-----\nkey\n" {
		t.Error("the value of several lines is another one")
	}
}

func TestSetReplacesTheValueAlone(t *testing.T) {
	t.Parallel()
	gets := 0
	r := newRig(t, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		gets++
		return c.Get(ctx, key, o, opts...)
	}}, credentialSecret("weather", map[string]string{"motorcortex.dev/hosts": "api.example.org", corev1.LastAppliedConfigAnnotation: "{}"}))
	r.in = strings.NewReader(value)
	r.want(0, []string{"set", "weather"}, "secret/weather replaced\n", "kubectl apply has left a copy of an earlier value")
	if gets != 0 {
		t.Error("the former value was read")
	}
	s := r.secret("weather")
	if diff := cmp.Diff(map[string][]byte{"value": []byte(value), "other": []byte("another key")}, s.Data); diff != "" || s.Labels["team"] != "a" || s.Annotations["motorcortex.dev/hosts"] != "api.example.org" {
		t.Errorf("%v, %v%s", s.Labels, s.Annotations, diff)
	}
	r.in = strings.NewReader(value)
	r.want(0, []string{"set", "weather", "--hosts", "b.example.org"}, "secret/weather replaced\n")
	if got := r.secret("weather").Annotations["motorcortex.dev/hosts"]; got != "b.example.org" {
		t.Errorf("the hosts are %s", got)
	}
}

// The value is in no message, whatever goes wrong.
func TestSetShowsNoValue(t *testing.T) {
	t.Parallel()
	echo := errors.New("a webhook says: " + value + ", or " + base64.StdEncoding.EncodeToString([]byte(value)))
	r := newRig(t, interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
		return echo
	}}, credentialSecret("weather", nil))
	for name, tt := range map[string]struct {
		args []string
		in   string
		code int
		says string
	}{
		"an argument":         {[]string{"weather", value}, "", 4, "a value is not one of them"},
		"within the name":     {[]string{"weather=" + value}, "", 4, "the NAME is none that a Secret can have"},
		"a flag":              {[]string{"weather", "-p" + value}, "", 4, "there is no such flag"},
		"a flag with a value": {[]string{"weather", "--value=" + value}, "", 4, "unknown flag: --value"},
		"for the file":        {[]string{"weather", "--from-file", value}, "", 1, "read the file of --from-file: no such file"},
		"no name":             {nil, value, 4, "the NAME of the credential is missing"},
		"a host that is none": {[]string{"weather", "--hosts", "https://x/"}, value, 4, "--hosts: "},
		"too short":           {[]string{"weather"}, "short\n", 1, "the value is too short"},
		"too long":            {[]string{"weather"}, strings.Repeat(value, 1000), 1, "the value is too long"},
		"control characters":  {[]string{"weather"}, value + "\x1b", 1, "the value has control characters"},
		"from the cluster":    {[]string{"weather"}, value, 1, "store the credential in the Secret ns/weather: a webhook says: "},
	} {
		t.Run(name, func(t *testing.T) {
			r.in = strings.NewReader(tt.in)
			r.want(tt.code, append([]string{"set"}, tt.args...), tt.says)
			r.in = strings.NewReader(tt.in)
			if _, out, errs := r.run(append([]string{"set"}, tt.args...)...); strings.Contains(out+errs, base64.StdEncoding.EncodeToString([]byte(value))) {
				t.Errorf("shows it in base64: %s%s", out, errs)
			}
		})
	}
	r.in = nil
	r.want(4, []string{"set", "weather"}, "there is no value")
}

// The API server never changes the type of a Secret. So the patch that names one shows what is there without a look at it.
func TestSetOfOtherTypes(t *testing.T) {
	t.Parallel()
	var is string
	var sent int
	r := newRig(t, interceptor.Funcs{Patch: func(_ context.Context, _ client.WithWatch, o client.Object, p client.Patch, _ ...client.PatchOption) error {
		sent++
		body, err := p.Data(o)
		if err == nil && !strings.Contains(string(body), `"type":"`+is+`"`) {
			err = &apierrors.StatusError{ErrStatus: metav1.Status{
				Reason: metav1.StatusReasonInvalid, Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Field: "type", Message: "field is immutable"}}},
			}}
		}
		return err
	}}, credentialSecret("weather", nil))
	for kind, code := range map[string]int{"Opaque": 0, "motorcortex.dev/credential": 0, "kubernetes.io/tls": 1, "motorcortex.dev/egress-grant": 1} {
		is, r.in = kind, strings.NewReader(value)
		if got, out, errs := r.run("set", "weather"); got != code {
			t.Errorf("%s: exit code %d, %s%s", kind, got, out, errs)
		}
	}
	if sent != 7 {
		t.Errorf("%d patches were sent", sent)
	}
}

// Another client makes the Secret between the two requests.
func TestSetMeetsAnother(t *testing.T) {
	t.Parallel()
	r := newRig(t, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		if err := c.Create(ctx, credentialSecret2(), opts...); err != nil {
			return err
		}
		return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "secrets"}, o.GetName())
	}})
	r.in = strings.NewReader(value)
	r.want(0, []string{"set", "weather"}, "secret/weather replaced")
	if string(r.secret("weather").Data["value"]) != value {
		t.Error("the value is another's")
	}
}

func credentialSecret2() *corev1.Secret {
	s := credentialSecret("weather", nil)
	s.Namespace = "ns"
	return s
}

// A Secret of another program is not taken over, and a key beside the one that skills read is no replacement.
func TestSetOfASecretThatIsThere(t *testing.T) {
	t.Parallel()
	foreign := credentialSecret("foreign", nil)
	foreign.Labels = nil
	r := newRig(t, interceptor.Funcs{}, foreign)
	for _, tt := range []struct {
		code       int
		args, says string
	}{
		{1, "set foreign", "it is no credential, as it has no label motorcortex.dev/component=credential"},
		{0, "set foreign --adopt", "secret/foreign replaced\n"},
		{0, "set foreign", "secret/foreign replaced\n"},
	} {
		r.in = strings.NewReader(value)
		r.want(tt.code, strings.Fields(tt.args), tt.says)
	}
	r.in = strings.NewReader(value)
	r.want(0, []string{"set", "new", "--key", "token"}, "created", "credential set new -n ns --key token --hosts HOST,HOST")
	r.in = strings.NewReader(value)
	r.want(1, []string{"set", "new"}, "another key than value", "as in --key token")
	if s := r.secret("new"); len(s.Data) != 1 {
		t.Errorf("%d keys", len(s.Data))
	}
	for _, says := range []string{"secret/new has the key other added\n", "secret/new replaced\n"} {
		r.in = strings.NewReader(value)
		r.want(0, []string{"set", "new", "--key", "other"}, says)
	}
	r.want(4, []string{"delete", "new"}, "All keys of the Secret go: other, token.")
}
