// SPDX-License-Identifier: Apache-2.0

package selftest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const account = "system:serviceaccount:motorcortex-system:motorcortex-manager"

// shipped reads the policies and bindings of config/admission, without those that only change what is written, but for the one that
// marks runs.
func shipped(t *testing.T) (*runtime.Scheme, []client.Object) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	folder := filepath.Join("..", "..", "config", "admission")
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, filepath.Join(folder, "stamping", "runs.yaml"))
	var list []client.Object
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
		for {
			o := &unstructured.Unstructured{}
			if err := decoder.Decode(o); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(o.GetKind(), "ValidatingAdmissionPolicy") || o.GetName() == originPolicy {
				list = append(list, o)
			}
		}
	}
	return scheme, list
}

// A policy that is added to config/admission is one that the self-test must know.
func TestPromisesAreThePoliciesOfTheFolder(t *testing.T) {
	t.Parallel()
	scheme, objects := shipped(t)
	want := map[string]bool{}
	for _, p := range promises {
		want[p.name] = p.namesAccount
	}
	for _, o := range objects {
		if o.GetObjectKind().GroupVersionKind().Kind != "ValidatingAdmissionPolicy" {
			continue
		}
		policy := &admissionv1.ValidatingAdmissionPolicy{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.(*unstructured.Unstructured).Object, policy); err != nil {
			t.Fatal(err)
		}
		namesAccount, known := want[policy.Name]
		if has := names(&policy.Spec, account); !known || has != namesAccount {
			t.Errorf("%s: known %t, has the manager's account in it: %t, expected %t", policy.Name, known, has, namesAccount)
		}
		delete(want, policy.Name)
	}
	if len(want) > 0 {
		t.Errorf("not in config/admission: %v", want)
	}
	if err := Policies(t.Context(), fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build(), account); err != nil {
		t.Error(err)
	}
}

// The cases are possible answers of the API server. A test in test/api tries the real one.
func TestAdmission(t *testing.T) {
	t.Parallel()
	scheme, objects := shipped(t)
	forbidden := func(text string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "self-test", errors.New(text))
	}
	roles := forbidden(`User "m" cannot create resource "motorruns"`)
	bySkills := forbidden("ValidatingAdmissionPolicy 'motorcortex-skills' with binding 'b' denied request: no")
	byPolicy := forbidden("ValidatingAdmissionPolicy 'motorcortex-sandbox-shape' with binding 'b' denied request: no")
	quota, away := forbidden("exceeded quota"), errors.New("refused connection")
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "gone")
	one, two := []string{"a"}, []string{"a", "b"}
	kept := map[string]error{"a": bySkills, "b": bySkills}
	for name, tt := range map[string]struct {
		namespaces []string
		// The answers of a namespace to a run, to a skill and to a Pod.
		runs, skills, pods map[string]error
		// certain reports whether the error is an ErrUnprotected.
		certain bool
		want    []string
	}{
		"protected":                   {one, map[string]error{"a": roles}, kept, map[string]error{"a": byPolicy}, false, nil},
		"approval accepted":           {one, map[string]error{}, kept, map[string]error{"a": byPolicy}, true, []string{"motorcortex-runs", "config/admission"}},
		"sandbox accepted":            {one, map[string]error{"a": roles}, kept, map[string]error{}, true, []string{"motorcortex-sandbox-shape", "config/admission"}},
		"all accepted":                {one, map[string]error{}, map[string]error{}, map[string]error{}, true, []string{"motorcortex-runs", "motorcortex-skills", "motorcortex-sandbox-shape"}},
		"approval refused by a quota": {one, map[string]error{"a": quota}, kept, map[string]error{"a": byPolicy}, false, []string{"cannot be told", "exceeded quota"}},
		"sandbox refused by roles":    {one, map[string]error{"a": roles}, kept, map[string]error{"a": roles}, false, []string{"not by the ValidatingAdmissionPolicy", "cannot create"}},
		"API server away":             {one, map[string]error{"a": away}, map[string]error{"a": away}, map[string]error{"a": byPolicy}, false, []string{"refused connection"}},
		"the first one is gone":       {two, map[string]error{"a": gone, "b": roles}, kept, map[string]error{"a": gone, "b": byPolicy}, false, nil},
		"the first one has a quota":   {two, map[string]error{"a": roles, "b": roles}, kept, map[string]error{"a": quota, "b": byPolicy}, false, nil},
		"the second one is open":      {two, map[string]error{"a": roles, "b": roles}, kept, map[string]error{"a": byPolicy}, true, []string{"namespace b", "motorcortex-sandbox-shape"}},
		"all are gone":                {two, map[string]error{"a": gone, "b": gone}, map[string]error{"a": gone, "b": gone}, map[string]error{"a": gone, "b": gone}, false, []string{"none of the namespaces [a b]", "namespace a", "namespace b"}},
		"skill accepted":              {one, map[string]error{"a": roles}, map[string]error{}, map[string]error{"a": byPolicy}, true, []string{"approve a skill", "motorcortex-skills", "config/admission"}},
		"skill refused by roles":      {one, map[string]error{"a": roles}, map[string]error{"a": roles}, map[string]error{"a": byPolicy}, false, nil},
		"skill refused by a quota":    {one, map[string]error{"a": roles}, map[string]error{"a": quota}, map[string]error{"a": byPolicy}, false, []string{"approve a skill", "exceeded quota"}},
		"nowhere":                     {nil, nil, nil, nil, false, []string{"none of the namespaces"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// A fake client writes into the objects that it gets.
			own := make([]client.Object, 0, len(objects))
			for _, o := range objects {
				own = append(own, o.DeepCopyObject().(client.Object))
			}
			c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(own...).Build(), interceptor.Funcs{
				Create: func(_ context.Context, _ client.WithWatch, o client.Object, opts ...client.CreateOption) error {
					var options client.CreateOptions
					options.ApplyOptions(opts)
					switch o := o.(type) {
					case *authenticationv1.SelfSubjectReview:
						o.Status.UserInfo.Username = account
						return nil
					case *corev1.Pod:
						wantDryRun(t, options)
						return tt.pods[o.Namespace]
					case *v1alpha1.Skill:
						wantDryRun(t, options)
						return tt.skills[o.Namespace]
					}
					wantDryRun(t, options)
					return tt.runs[o.GetNamespace()]
				},
			})
			err := Admission(t.Context(), c, tt.namespaces...)
			if (err == nil) != (tt.want == nil) || errors.Is(err, ErrUnprotected) != tt.certain {
				t.Fatalf("error %v", err)
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error does not say %q: %v", part, err)
				}
			}
		})
	}
}

func wantDryRun(t *testing.T, o client.CreateOptions) {
	t.Helper()
	if len(o.DryRun) == 0 {
		t.Error("it really creates something")
	}
}

// An API server that goes away takes back nothing that was found before.
func TestPoliciesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	scheme, _ := shipped(t)
	reads := 0
	c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).Build(), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if reads++; reads > 2 {
				return errors.New("refused connection")
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
	err := Policies(t.Context(), c, account)
	if !errors.Is(err, ErrUnprotected) || !strings.Contains(err.Error(), "refused connection") || reads != 3 {
		t.Errorf("after %d reads: %v", reads, err)
	}
}
