// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex"
	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/doctor"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

// installation is a cluster with an operator, as a user sees it.
type installation struct {
	t       *testing.T
	objects []client.Object
	// denied are the rights that the user lacks, each as "list leases".
	denied map[string]bool
	// created is what the API server says to the run of the dry run.
	created error
	// version of the API server, and what it answers in place of it.
	minor  string
	answer http.HandlerFunc
	// earlier is a page of runs before those that there are.
	earlier []v1alpha1.MotorRun
}

func newInstallation(t *testing.T) *installation {
	t.Helper()
	now := metav1.NowMicro()
	version := motorcortex.Version()
	operator := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "motorcortex-system", Name: name}
	}
	worker := &coordinationv1.Lease{ObjectMeta: operator("worker-a"), Spec: coordinationv1.LeaseSpec{RenewTime: &now}}
	worker.Labels, worker.Annotations = map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentWorker}, map[string]string{v1alpha1.AnnotationVersion: version}
	return &installation{t: t, minor: "36+", denied: map[string]bool{}, created: refusal("ValidatingAdmissionPolicy 'motorcortex-runs' denied request"), objects: []client.Object{
		&appsv1.Deployment{
			ObjectMeta: operator("motorcortex-manager"),
			Spec:       appsv1.DeploymentSpec{Replicas: new(int32(2)), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "manager", Image: "manager:v1"}}}}},
			Status:     appsv1.DeploymentStatus{Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue}}},
		},
		&coordinationv1.Lease{ObjectMeta: operator("manager.motorcortex.dev"), Spec: coordinationv1.LeaseSpec{RenewTime: &now, HolderIdentity: new("pod-a")}},
		worker,
		&v1alpha1.MotorCortex{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "default"}, Status: v1alpha1.MotorCortexStatus{Conditions: []metav1.Condition{
			{Type: v1alpha1.CortexModelAvailable, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonCortexAvailable, Message: "It answers."},
		}}},
		proved("run", metav1.ConditionTrue, v1alpha1.ReasonIsolationVerified, 0),
	}}
}

func refusal(text string) error {
	return apierrors.NewForbidden(schema.GroupResource{Group: "motorcortex.dev", Resource: "motorruns"}, "motorcortex-self-test", errors.New(text))
}

// proved is a run whose sandbox was tried, some minutes after others.
func proved(name string, is metav1.ConditionStatus, reason string, minute int) *v1alpha1.MotorRun {
	return &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Status: v1alpha1.MotorRunStatus{Conditions: []metav1.Condition{
		{Type: v1alpha1.ConditionIsolationVerified, Status: is, Reason: reason, Message: "Tried.", LastTransitionTime: metav1.NewTime(time.Unix(int64(60*minute), 0))},
	}}}
}

// change changes the object of that type.
func change[T client.Object](i *installation, do func(T)) {
	i.t.Helper()
	for _, o := range i.objects {
		if typed, ok := o.(T); ok {
			do(typed)
			return
		}
	}
	i.t.Fatal("there is no such object")
}

// without takes away the objects of that type.
func without[T client.Object](i *installation) {
	var kept []client.Object
	for _, o := range i.objects {
		if _, ok := o.(T); !ok {
			kept = append(kept, o)
		}
	}
	i.objects = kept
}

func (i *installation) client() client.WithWatch {
	i.t.Helper()
	scheme, err := cluster.Scheme()
	if err != nil {
		i.t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(i.objects...).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			o := (&client.ListOptions{}).ApplyOptions(opts)
			if runs, ok := list.(*v1alpha1.MotorRunList); ok && len(i.earlier) > 0 && o.Continue == "" {
				runs.Items, runs.Continue = i.earlier, "more"
				return nil
			}
			return c.List(ctx, list, opts...)
		},
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			switch o := o.(type) {
			case *authenticationv1.SelfSubjectReview:
				o.Status.UserInfo.Username = "dana\x1b"
				return nil
			case *authorizationv1.SelfSubjectAccessReview:
				if a := o.Spec.ResourceAttributes; a != nil {
					o.Status.Allowed = !i.denied[a.Verb+" "+a.Resource]
				} else {
					o.Status.Allowed = !i.denied[o.Spec.NonResourceAttributes.Path]
				}
				return nil
			case *v1alpha1.MotorRun:
				return i.created
			}
			return errors.New("nothing else is created")
		},
	}).Build()
}

func (i *installation) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case i.answer != nil:
		i.answer(w, r)
	case r.URL.Path == "/version":
		fmt.Fprintf(w, `{"major":"1","minor":%q,"gitVersion":"v1.%s.0"}`, i.minor, i.minor)
	default:
		fmt.Fprint(w, "{}")
	}
}

// run carries out the verb.
func (i *installation) run(args ...string) (code int, out, errs string) {
	i.t.Helper()
	server := httptest.NewServer(i)
	defer server.Close()
	var o, e strings.Builder
	s := verb.Streams{Out: &o, Err: &e}
	c := i.client()
	p := verb.Program(s, "kubectl-motor", "kubectl motor", "Test.", doctor.New(s, func() (client.WithWatch, string, error) { return c, "ns", nil }, func() (rest.Interface, error) {
		d, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: server.URL})
		if err != nil {
			return nil, err
		}
		return d.RESTClient(), nil
	}))
	code = verb.Run(i.t.Context(), p, append([]string{"doctor"}, args...))
	return code, o.String(), e.String()
}

// checks are the checks by name.
func (i *installation) checks() map[string]doctor.Check {
	i.t.Helper()
	_, out, errs := i.run("-o", "json")
	var list struct{ Checks []doctor.Check }
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		i.t.Fatalf("%v in %s%s", err, out, errs)
	}
	m := map[string]doctor.Check{}
	for _, c := range list.Checks {
		m[c.Name] = c
	}
	return m
}

func TestAReportIsForPeopleAndPrograms(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	code, out, errs := i.run()
	// The schema and the policies are those of an API server that has neither.
	for _, line := range []string{
		"ok        API server               Kubernetes v1.36+.0\n", `ok        you                      dana\u001b, in the namespace ns` + "\n", "ok        operator                 2 of 2 replicas are ready, of the image manager:v1\n",
		"failed    kinds                    the CustomResourceDefinitions in the cluster are older", "                                   → install the CustomResourceDefinitions", "ok        leader                   pod-a\n",
		"failed    admission policies     ", "the ValidatingAdmissionPolicy motorcortex-accounts is missing", "ok        you may start runs       in the namespace ns\n",
	} {
		if !strings.Contains(out, line) {
			t.Errorf("there is no %q in\n%s", line, out)
		}
	}
	if code != verb.ExitFailed || errs != "16 ok, 0 warnings, 2 failed, 0 unknown\n" {
		t.Errorf("exit code %d, %s", code, errs)
	}
	i.denied = map[string]bool{"/openapi/v3/apis/motorcortex.dev/v1alpha1": true, "get validatingadmissionpolicybindings": true}
	if code, _, errs := i.run(); code != verb.ExitUnknown || errs != "16 ok, 0 warnings, 0 failed, 2 unknown\nerror: nothing failed, and it is unknown how these stand: kinds, admission policies\n" {
		t.Errorf("without a failure: exit code %d, %s", code, errs)
	}
	if _, out, _ := i.run("-o", "jsonl"); !strings.HasPrefix(out, `{"name":"API server","status":"ok","message":"Kubernetes v1.36+.0"}`+"\n") {
		t.Errorf("lines are %s", out)
	}
	if _, out, _ := i.run("-o", "name"); !strings.HasPrefix(out, "API server\nyou\nkinds\n") {
		t.Errorf("names are %s", out)
	}
	if code, _, errs := i.run("--timeout", "0s"); code != verb.ExitMisused {
		t.Errorf("without time: %d, %s", code, errs)
	}
}

// An installation that is whole and has had no run is not broken. Who wants to be sure asks for it.
func TestAWarningIsNoFailureUnlessItIsToBe(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	without[*v1alpha1.MotorRun](i)
	// What the schema and the policies are like is another matter.
	i.denied = map[string]bool{"/openapi/v3/apis/motorcortex.dev/v1alpha1": true, "get validatingadmissionpolicybindings": true}
	const counted = "15 ok, 1 warnings, 0 failed, 2 unknown\n"
	if code, _, errs := i.run(); code != verb.ExitUnknown || errs != counted+"error: nothing failed, and it is unknown how these stand: kinds, admission policies\n" {
		t.Errorf("exit code %d, %s", code, errs)
	}
	if code, _, errs := i.run("--strict"); code != verb.ExitFailed || errs != counted {
		t.Errorf("strictly: exit code %d, %s", code, errs)
	}
}

func TestWithoutAnAPIServerNothingElseIsAsked(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.answer = func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "{}", http.StatusInternalServerError) }
	code, out, errs := i.run()
	if code != verb.ExitFailed || !strings.HasPrefix(out, "failed    API server               it cannot be asked: ") || errs != "0 ok, 0 warnings, 1 failed, 0 unknown\n" {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
}

// A check that hangs ends, and the others are made.
func TestAnAPIServerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.answer = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/version" {
			fmt.Fprint(w, `{"major":"1","minor":"36","gitVersion":"v1.36.0"}`)
			return
		}
		<-r.Context().Done()
	}
	code, out, _ := i.run("--timeout", "1s")
	if code != verb.ExitFailed || !strings.Contains(out, "unknown   kinds ") || !strings.Contains(out, "ok        leader ") {
		t.Errorf("exit code %d, %s", code, out)
	}
}
